#!/usr/bin/env bash
# Installs what Lido's build, tests, demo and benches need on Debian 12. Only adds packages.
set -euo pipefail

required=(g++ clang cmake ninja-build ccache git python3 binutils
  libboost-dev libgtest-dev libgmock-dev libbenchmark-dev libtbb-dev libcli11-dev libfmt-dev
  clang-tidy clang-format libclang-rt-14-dev gcovr valgrind)
# For the preset arm64; scripts/test.sh goes on without.
arm64=(g++-aarch64-linux-gnu qemu-user-static googletest)
# For the pictures of the particle demo; everything else goes on without.
pictures=(libpng-dev libwebp-dev)
# Clients and servers for the tests of connections, and for the gateway demo; what is missing is skipped there. Only
# the programs are wanted: no service is started now or with the machine.
connections=(pkg-config libasio-dev libhiredis-dev libpq-dev)
servers=(redis-server postgresql pgbouncer)
# Peers of the benches: a missing one is skipped there with a message.
optional=(libmimalloc-dev libjemalloc-dev libgoogle-perftools-dev libconcurrentqueue-dev
  libatomic-queue-dev libplf-colony-dev libfoonathan-memory-dev libcds-dev libxenium-dev libck-dev libdpdk-dev)
# Proves stress/model/*.pml; without it those tests are left out.
optional+=(spin)

missing() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || printf '%s\n' "$package"
  done
}

install() { # packages...; never removes one that is there
  local sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends --no-remove "$@" >/dev/null
}

policy=/usr/sbin/policy-rc.d
policy_mark='# of scripts/setup.sh of Lido, for as long as that runs'

# Also of a run before, which was killed: no service of this machine would ever be started again.
remove_own_policy() {
  local sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  if grep -qsxF -- "$policy_mark" "$policy"; then
    "${sudo[@]}" rm -f "$policy"
  fi
}

# Debian's packages start their services at once and with the machine. Those that were there before stay as they are.
install_servers() { # packages...
  local sudo=() package
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  if [ ! -e "$policy" ]; then
    trap remove_own_policy EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\n%s\nexit 101\n' "$policy_mark" | "${sudo[@]}" tee "$policy" >/dev/null
    "${sudo[@]}" chmod 755 "$policy"
  fi
  for package in "$@"; do
    if ! install "$package"; then
      echo "setup: $package is not available; the tests with it will be skipped" >&2
    elif command -v systemctl >/dev/null; then
      "${sudo[@]}" systemctl disable "$package" >/dev/null 2>&1 || true
    fi
  done
  remove_own_policy
  trap - EXIT HUP INT TERM
}

remove_own_policy
mapfile -t want_required < <(missing "${required[@]}")
mapfile -t want_arm64 < <(missing "${arm64[@]}")
mapfile -t want_pictures < <(missing "${pictures[@]}")
mapfile -t want_connections < <(missing "${connections[@]}")
mapfile -t want_servers < <(missing "${servers[@]}")
mapfile -t want_optional < <(missing "${optional[@]}")
wanted=("${want_required[@]}" "${want_arm64[@]}" "${want_pictures[@]}" "${want_connections[@]}" "${want_servers[@]}"
  "${want_optional[@]}")
if [ ${#wanted[@]} -eq 0 ]; then
  exit 0
fi
echo "setup: installing ${wanted[*]}"
sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
"${sudo[@]}" apt-get update -qq >/dev/null || echo "setup: package lists could not be refreshed, going on with the old ones" >&2
if [ ${#want_required[@]} -gt 0 ]; then
  install "${want_required[@]}"
fi
if [ ${#want_arm64[@]} -gt 0 ]; then
  install "${want_arm64[@]}" || echo "setup: no cross compiler or emulator for arm64; its tests will be skipped" >&2
fi
if [ ${#want_pictures[@]} -gt 0 ]; then
  install "${want_pictures[@]}" || echo "setup: no libpng or libwebp; there will be no particle demo" >&2
fi
for package in "${want_connections[@]}"; do
  install "$package" || echo "setup: $package is not available; the factory that needs it will not be built" >&2
done
if [ ${#want_servers[@]} -gt 0 ]; then
  install_servers "${want_servers[@]}"
fi
for package in "${want_optional[@]}"; do
  install "$package" || echo "setup: $package is not available; what needs it will be skipped" >&2
done
