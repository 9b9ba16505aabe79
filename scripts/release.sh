#!/usr/bin/env bash
# Makes a release of what is committed, and publishes nothing. Runs all tests, and writes into build/release: archives,
# packages, the one header, the site, dumps of the binary interface, checksums. Prints the steps that remain for a person.
# Usage: scripts/release.sh [--skip-tests] [--previous FOLDER] VERSION
#   VERSION            that of include/lido/version.hpp, such as 1.2.3, or a candidate for it, such as 1.2.3-rc1
#   --skip-tests       for a dry run: the output says that nothing was tested
#   --previous FOLDER  dumps of the binary interface of the last release, liblido*.abi, to compare with; not for the first
# The changelog needs a section `## [VERSION] - <date>`. A candidate may have its changes in `## [Unreleased]`.
set -euo pipefail
called_in=$PWD
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

fail() { echo "release: $*" >&2; exit 1; }
begin() { printf '\n== %s (%s s so far)\n' "$1" "$SECONDS"; }

tests=yes previous='' version=''
while [ $# -gt 0 ]; do
  case $1 in
    --skip-tests) tests=no ;;
    --previous)
      previous=$(cd "$called_in" && cd -- "${2:-.}" 2>/dev/null && pwd -P) && [ -f "$previous/liblido.abi" ] ||
        fail "--previous ${2:-}: there is no liblido.abi"
      case $previous/ in
        "$(pwd -P)"/build/release/* | "$(pwd -P)"/build/release-work/*) fail "--previous $previous: this folder is written anew" ;;
      esac
      shift ;;
    -*) sed -n '4,8s/^# //p' scripts/release.sh >&2; exit 2 ;;
    *) [ -z "$version" ] || fail "two versions, $version and $1"; version=$1 ;;
  esac
  shift
done
[ -n "$version" ] || { sed -n '4,8s/^# //p' scripts/release.sh >&2; exit 2; }

# ---- what has to hold before ----------------------------------------------------------------------

number() { sed -n "s/^#define LIDO_$1 //p" include/lido/version.hpp; }
numbers=$(number VERSION_MAJOR).$(number VERSION_MINOR).$(number VERSION_PATCH)
abi=$(number ABI_VERSION)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-rc[0-9]+)?$ ]] || fail "$version is no version such as 1.2.3 or 1.2.3-rc1"
[ "${version%-rc*}" = "$numbers" ] || fail "include/lido/version.hpp says $numbers, which is not ${version%-rc*}"
[ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed: $(git status --porcelain | head -n 3)"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "there is a tag v$version already"
last=$(git tag --list 'v[0-9]*' --sort=-version:refname | grep -v -- -rc | head -n 1 || true)
[ -z "$last" ] || [ -n "$previous" ] || fail "--previous is needed: there is a release $last"

section() { # heading, as a regular expression
  awk -v heading="^## $1" '$0 ~ heading { inside = 1; next } /^## / { inside = 0 } inside && NF' CHANGELOG.md
}
if [ -n "$(section "[[]${numbers}[]] - [0-9-]+$")" ]; then
  changes="## [$numbers]"
elif [[ $version == *-rc* ]] && [ -n "$(section '[[]Unreleased[]]$')" ]; then
  changes='## [Unreleased]'
else
  fail "CHANGELOG.md has no section '## [$numbers] - <date>' with changes"
fi
project() { python3 -c 'import json, sys; print(json.load(open("cmake/project.json"))[sys.argv[1]])' "$1"; }
address=$(project address)
contact=$(project contact)
scripts/check_project.py || fail "scripts/check_project.py failed"
for tool in abidw abidiff cmake cpack sha256sum; do
  command -v $tool >/dev/null || fail "$tool is missing; scripts/setup.sh installs it"
done

# ---- tests ----------------------------------------------------------------------------------------

if [ $tests = yes ]; then
  begin "tests"
  scripts/test.sh --all
fi

# ---- files ----------------------------------------------------------------------------------------

begin "files"
# The same commit gives the same archives, whenever and wherever they are made.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
out=$PWD/build/release
work=$PWD/build/release-work
tree=$work/lido-$version # the files of the commit alone: git may ignore others
rm -rf "$out" "$work"
mkdir -p "$out" "$work/unpacked"
git -c tar.umask=022 archive --prefix="lido-$version/" HEAD | tar -x -C "$work"
export CXXFLAGS="${CXXFLAGS-} '-ffile-prefix-map=$work/='" CFLAGS="${CFLAGS-} '-ffile-prefix-map=$work/='"

library() { # folder, definitions...
  cmake -S "$tree" -B "$work/$1" -G Ninja --fresh -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLIDO_BUILD_TESTS=OFF \
    -DLIDO_BUILD_EXAMPLES=OFF "${@:2}" >"$work/$1.log" 2>&1 || { tail -n 30 "$work/$1.log" >&2 && fail "$1: configuring failed"; }
}
build() { # folder
  cmake --build "$work/$1" >>"$work/$1.log" 2>&1 || { tail -n 30 "$work/$1.log" >&2 && fail "$1: building failed"; }
}
pack() { # folder, configuration of cpack, generator, definitions...
  cpack --config "$work/$1/$2" -G "$3" -B "$work/$1/packages" "${@:4}" >>"$work/$1.log" 2>&1 ||
    { tail -n 30 "$work/$1.log" >&2 && fail "$1: packing failed"; }
}
archive() { # configuration of cpack, name
  pack static "$1" TGZ -D "CPACK_PACKAGE_FILE_NAME=$2"
  tar -xzf "$work/static/packages/$2.tar.gz" -C "$work/unpacked"
  compress "$work/unpacked" "$2"
}
compress() { # where it is, a folder there: files in an order of their own, with one time and no owner
  tar -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "$2" | gzip -9n >"$out/$2.tar.gz"
}

library static
build static
archive CPackSourceConfig.cmake "lido-$version"
archive CPackConfig.cmake "lido-$version-$(uname -s)-$(uname -m)"
left_out=()
if [ -n "$contact" ]; then
  library deb -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_PREFIX=/usr
  build deb
  pack deb CPackConfig.cmake DEB -D "CPACK_DEBIAN_PACKAGE_VERSION=${version/-/\~}" # 1.2.3~rc1 is before 1.2.3
  mv "$work"/deb/packages/*.deb "$out/"
else
  left_out+=("Debian packages: they name a maintainer, and the contact in cmake/project.json is empty")
fi
"$tree/scripts/amalgamate.py" "$out/lido_all.hpp"
scripts/docs.sh >"$work/site.log" 2>&1 || { tail -n 30 "$work/site.log" >&2 && fail "the site could not be built"; }
cp -r build/site "$work/lido-$version-site"
compress "$work" "lido-$version-site"

# ---- the binary interface -------------------------------------------------------------------------

begin "binary interface"
library abi -DBUILD_SHARED_LIBS=ON -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g"
build abi
# Of types, those in headers: what sources alone define may change.
for file in "$work"/abi/src/liblido*.so; do
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --drop-private-types --headers-dir "$tree/include" "$file" \
    >"$out/$(basename "$file" .so).abi"
done
soname() { sed -n "s/.* soname='\([^']*\)'.*/\1/p;" "$1/liblido.abi" | head -n 1; }
if [ -z "$previous" ]; then
  compared="recorded; no dumps of a last release were given to compare with"
elif [ "$(soname "$previous")" != "$(soname "$out")" ]; then
  compared="has another number than that of the last release, so programs must be compiled anew"
else
  for file in "$previous"/liblido*.abi; do
    # Functions may be added. Anything else is a change, also one that abidiff leaves to a person to judge.
    abidiff --no-added-syms "$file" "$out/$(basename "$file")" >&2 ||
      fail "$(basename "$file") is not that of $previous, and LIDO_ABI_VERSION is still $abi"
  done
  compared="that of the last release, so programs run without being compiled anew"
fi

(cd "$out" && sha256sum -- * >SHA256SUMS)

# ---- what remains ---------------------------------------------------------------------------------

begin "build/release"
(cd "$out" && ls -l)
echo
for part in "${left_out[@]}"; do echo "LEFT OUT: $part"; done
echo "Binary interface $abi: $compared."
if [ $tests = yes ]; then echo "scripts/test.sh --all has passed."; else echo "NOT TESTED: --skip-tests was given."; fi
echo "Changes: the section '$changes' of CHANGELOG.md."
echo
echo "What remains for a person:"
step=0
next() { step=$((step + 1)) && echo "  $step. $*"; }
if [ -z "$address" ] || [ -z "$contact" ]; then
  next "Set address and contact in cmake/project.json, run scripts/check_project.py --write, commit, and run this again."
fi
[ $tests = yes ] || next "Run this again without --skip-tests."
next "git tag -s v$version -m 'Lido $version' $(git rev-parse --short=12 HEAD)"
next "git push ${address:-ADDRESS} v$version"
next "Publish the files of build/release with the text of the section '$changes'. Keep liblido*.abi for the next release."
[[ $version == *-rc* ]] || next "Begin a section '## [Unreleased]', and raise the numbers in include/lido/version.hpp."
