#!/bin/sh
# Prints what a report of a bug needs to know of a machine: compilers, system, membarrier, processors, pages, Lido.
# Names no user, machine or folder. Wants nothing but a POSIX shell: what it cannot find out, it says.
LC_ALL=C
export LC_ALL
root=$(dirname "$0")/..
system=$(uname -s)

say() { # name, value
  printf '%-20s %s\n' "$1:" "${2:-unknown}"
}

has() { command -v "$1" >/dev/null 2>&1; }
first() { "$@" 2>/dev/null </dev/null | head -n 1; } # line of what a command prints

# ---- Lido and compilers ---------------------------------------------------------------------------

number() { sed -n "s/^#define LIDO_$1 //p" "$root/include/lido/version.hpp" 2>/dev/null; }
lido=$(number VERSION_MAJOR).$(number VERSION_MINOR).$(number VERSION_PATCH)
if [ "$lido" = .. ]; then
  lido='no sources beside this script'
elif commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null); then
  [ -z "$(git -C "$root" status --porcelain 2>/dev/null)" ] || commit="$commit, changed"
  lido="$lido, commit $commit"
fi
say 'Lido' "$lido"
if has pkg-config && pkg-config --exists lido 2>/dev/null; then say 'Lido, installed' "$(pkg-config --modversion lido)"; fi

compiler=
for name in ${CXX:+"$CXX"} c++ g++ clang++; do
  has "$name" || continue
  [ -n "$compiler" ] || compiler=$name
  say "compiler $name" "$(first "$name" --version)"
  library=$(echo '#include <version>' | "$name" -std=c++20 -x c++ -dM -E - 2>/dev/null |
    sed -n -e 's/^#define _GLIBCXX_RELEASE \(.*\)/libstdc++ \1/p' -e 's/^#define _LIBCPP_VERSION \(.*\)/libc++ \1/p')
  say "  its library" "$library"
done
[ -n "$compiler" ] || say 'compiler' 'none'
if has cmake; then say 'CMake' "$(first cmake --version)"; else say 'CMake' 'none'; fi

# ---- the system -----------------------------------------------------------------------------------

say 'kernel' "$(uname -srm)"
if [ -r /etc/os-release ]; then
  say 'distribution' "$(sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' /etc/os-release)"
elif has sw_vers; then
  say 'distribution' "macOS $(sw_vers -productVersion)"
fi
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null)
if [ -z "$libc" ] && has ldd; then libc=$(ldd --version 2>&1 | grep -E 'musl|^Version' | tr '\n' ' '); fi
[ "$system" = Linux ] || libc="that of $system"
say 'C library' "$libc"

# The kernel itself is asked, as Lido asks it: by a program, or where there is no compiler, by Python.
asked_by_program() {
  folder=$(mktemp -d 2>/dev/null) || return 1
  cat >"$folder/ask.cpp" <<'END'
#include <cerrno>
#include <cstdio>
#include <cstring>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
long ask() { return syscall(SYS_membarrier, 1 << 4, 0, 0); } // to register for private expedited fences
#elif defined(__FreeBSD__) && __has_include(<sys/membarrier.h>)
#include <sys/membarrier.h>
long ask() { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0); }
#else
long ask() { errno = ENOSYS; return -1; }
#endif
int main() { std::puts(ask() == 0 ? "yes" : std::strerror(errno)); }
END
  "$compiler" "$folder/ask.cpp" -o "$folder/ask" 2>/dev/null && "$folder/ask"
  status=$?
  rm -rf "$folder"
  return $status
}

asked_by_python() {
  case $(uname -m) in
    x86_64) call=324 ;;
    aarch64 | riscv64) call=283 ;;
    *) return 1 ;;
  esac
  python3 -c "import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print('yes' if libc.syscall($call, 16, 0, 0) == 0 else os.strerror(ctypes.get_errno()))" 2>/dev/null
}

membarrier=
[ -z "$compiler" ] || membarrier=$(asked_by_program) || membarrier=
if [ -z "$membarrier" ] && [ "$system" = Linux ] && has python3; then membarrier=$(asked_by_python); fi
say 'membarrier' "${membarrier:-not asked: that needs a compiler or Python}"

processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
[ -n "$processor" ] || processor=$(first sysctl -n machdep.cpu.brand_string)
[ -n "$processor" ] || processor=$(first sysctl -n hw.model)
say 'processor' "$processor"
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || getconf NPROCESSORS_ONLN 2>/dev/null || echo unknown)
if has nproc; then cores="$cores, $(nproc) for this process"; fi
if [ -r /sys/fs/cgroup/cpu.max ]; then cores="$cores; cgroup: $(cat /sys/fs/cgroup/cpu.max)"; fi
say 'cores' "$cores"
say 'page size' "$(getconf PAGESIZE 2>/dev/null || getconf PAGE_SIZE 2>/dev/null)"
huge=/sys/kernel/mm/transparent_hugepage
if [ -r $huge/enabled ]; then
  say 'huge pages' "$(cat $huge/enabled), $(cat $huge/hpage_pmd_size 2>/dev/null) bytes"
else
  say 'huge pages' 'the system does not say'
fi
# shellcheck disable=SC3045  # those of Linux and the BSDs have it
say 'address space, KiB' "$(ulimit -v 2>/dev/null)"

# ---- container, virtual machine -------------------------------------------------------------------

signs() {
  if has systemd-detect-virt; then systemd-detect-virt | grep -v '^none$'; fi
  [ ! -e /.dockerenv ] || echo docker
  [ ! -e /run/.containerenv ] || echo podman
  ! grep -qs '^flags.* hypervisor' /proc/cpuinfo || echo 'a virtual machine'
  [ "$(first sysctl -n kern.hv_vmm_present)" != 1 ] || echo 'a virtual machine'
  [ "$(first sysctl -n security.jail.jailed)" != 1 ] || echo jail
  case $(first sysctl -n kern.vm_guest) in '' | none) ;; *) echo 'a virtual machine' ;; esac
}
inside=$(signs 2>/dev/null | sort -u | tr '\n' ' ')
say 'container or VM' "${inside:-it does not show}"
