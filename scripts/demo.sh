#!/usr/bin/env bash
# The main job: builds Lido, runs the engine demo over the files below PATH, then the particle demo,
# then a gateway that borrows connections, then a short bench.
# Usage: scripts/demo.sh [PATH]    default /usr/include
set -euo pipefail

refuse() {
  echo "demo: $1" >&2
  exit 2
}

# The program checks again; here a mistake is known before anything is installed or built.
check_path() {
  [ -n "$1" ] || refuse "the path is empty"
  [ -e "$1" ] || refuse "$1 does not exist"
  [ -d "$1" ] || refuse "$1 is not a folder"
  { [ -r "$1" ] && [ -x "$1" ]; } || refuse "$1 cannot be read: permission denied"
  # The real path, so that a link to a folder is followed and no name looks like an option.
  [ -n "$(find "$(realpath -- "$1")/" -type f -size +0 -print -quit 2>/dev/null)" ] || refuse "$1 holds no text to read"
}

[ $# -le 1 ] || refuse "usage: scripts/demo.sh [PATH]"
case ${1-} in
  -h | --help)
    sed -n '2,4s/^# //p' "$0"
    exit 0
    ;;
esac
path=${1-/usr/include}
check_path "$path"
path=$(realpath -- "$path")
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
echo "demo: building"
# Said here because bench.sh, which shares the build folder, leaves the examples out.
cmake --preset bench -DLIDO_BUILD_EXAMPLES=ON >/dev/null
cmake --build --preset bench --target lido_engine_demo
echo
build/bench/examples/lido_engine_demo "$path"
echo
if grep -q lido_particle_demo build/bench/build.ninja; then
  cmake --build --preset bench --target lido_particle_demo | tail -n 1
  build/bench/examples/particles/lido_particle_demo --out build/bench/fountain
else
  echo "demo: no fountain of particles, libpng or libwebp is missing (libpng-dev, libwebp-dev)" >&2
fi
echo
# With --redis or --postgres the same in front of these.
cmake --build --preset bench --target lido_gateway_demo | tail -n 1
build/bench/examples/gateway/lido_gateway_demo
echo
exec scripts/bench.sh --short
