#!/usr/bin/env bash
# Resource pools beside the connection pools of the JVM, HikariCP and Apache Commons Pool 2, over a driver that
# does nothing: same work, same machine, same run. Optional: installs a JVM and both pools from the system's
# packages, removes nothing. Programs take turns; figures are medians, and it is the ratios that count.
# usage: scripts/bench_jvm.sh [--short] [--no-install]
set -euo pipefail
cd "$(dirname "$0")/.."

passes=5 rounds=3 milliseconds=300 install=yes
while [ $# -gt 0 ]; do
  case $1 in
    --short) passes=1 rounds=1 milliseconds=100 ;;
    --no-install) install=no ;;
    *) echo "usage: scripts/bench_jvm.sh [--short] [--no-install]" >&2 && exit 2 ;;
  esac
  shift
done

packages=(default-jdk-headless libhikaricp-java libcommons-pool2-java libslf4j-java)
java_folder=/usr/share/java
setup=(scripts/setup.sh bench)
[ $install = yes ] || setup+=(--no-install)
"${setup[@]}"
if ! command -v javac >/dev/null || [ ! -e "$java_folder/HikariCP.jar" ] || [ ! -e "$java_folder/commons-pool2.jar" ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  if [ $install = no ] || ! command -v apt-get >/dev/null || ! command -v "${sudo[0]:-true}" >/dev/null; then
    echo "bench_jvm: missing: ${packages[*]}" >&2
    exit 1
  fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove \
    "${packages[@]}" >/dev/null
fi

build=${LIDO_BENCH_BUILD:-build/bench}
mkdir -p "$build/jvm"
log=$build/bench_jvm.log
{ cmake --preset bench -B "$build" -DLIDO_BUILD_EXAMPLES=OFF && cmake --build "$build" --target lido_bench_resource; } \
  >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
classes=$build/jvm
for jar in HikariCP commons-pool2 slf4j-api slf4j-nop; do
  classes+=:$java_folder/$jar.jar
done
javac -Xlint:all -cp "$classes" -d "$build/jvm" bench/jvm/*.java

results=$build/jvm/results.txt
: >"$results"
for ((pass = 0; pass < passes; ++pass)); do
  "$build"/bench/lido_bench_resource --pairs >>"$results"
  java -cp "$classes" PoolBench "$rounds" "$milliseconds" >>"$results"
done
python3 -B bench/jvm/compare.py "$results"
