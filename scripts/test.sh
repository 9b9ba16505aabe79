#!/usr/bin/env bash
# Tests Lido, and ends with a table of what took how long (also in build/test-times.txt), and with what failed. A step
# that took a third more than scripts/test_cpu.tsv records for it is marked. To record the last run there:
# cp build/test_cpu.tsv scripts/
#
# By default all unit tests but those of other back ends run once, under AddressSanitizer and
# UndefinedBehaviorSanitizer. The stress drivers and the layers that threads share run under ThreadSanitizer. With GCC it
# runs what sanitizers cannot show: house, docs and package tests, and a share of the model checker's scenarios,
# mutants, stress drivers and fuzz targets.
#
#   --all         everything: all of that in full, also unit tests with GCC, every way to get Lido, faults, chaos,
#                 servers, benches and demos; Clang's optimised library and package; arm64 under an emulator; Windows
#                 under Wine; Clang 19 with libc++; clang-tidy and clang-format
#   --soak [S]    --all; drivers under AddressSanitizer, unit tests and examples with optimised Clang, and all unit tests
#                 for arm64, too; unit tests for five more processors, with GCC 11 and Clang 22, and a program in
#                 WebAssembly; drivers and fuzz targets run for S seconds (120); and build/verification.md says what
#                 was seen, with the branches taken, the cost of checked and of shared pools, and what plain tests miss
#   --billion     --all; the model checker tries up to 40 million executions of a scenario instead of 300,000
#   --no-install  installs nothing: what is missing is named
set -euo pipefail
cd "$(dirname "$0")/.."

scope=share
soak=no
setup=()
stress_seconds=0.5 # a run of a driver
fuzz_seconds=12
executions=30000 # of a small scenario; a large one gets a tenth
most_seconds=300 # for a test that does not say so itself
while [ $# -gt 0 ]; do
  case $1 in
    --all) scope=all ;;
    --soak)
      scope=all soak=yes
      if [[ ${2:-} =~ ^[0-9]+$ ]]; then stress_seconds=$2 && shift; else stress_seconds=120; fi
      fuzz_seconds=$stress_seconds most_seconds=$((most_seconds + 10 * stress_seconds)) ;;
    --billion) scope=all executions=40000000 most_seconds=40000 ;;
    --no-install) setup=(--no-install) ;;
    *) echo "usage: scripts/test.sh [--all] [--soak [SECONDS]] [--billion] [--no-install]" >&2; exit 2 ;;
  esac
  shift
done
if [ $scope = all ]; then
  [ "$stress_seconds" != 0.5 ] || stress_seconds=1
  [ $executions -gt 30000 ] || executions=300000
fi

# ---- the table ------------------------------------------------------------------------------------

rows=()
step='' step_tests='' step_began=0 step_cpu=0
on_failure=() # a command that says what failed in the step
record=$scope # the lines of scripts/test_cpu.tsv to compare with: in other runs the same steps do more or less
[ $soak = no ] || record=soak
[ $executions -le 300000 ] || record=billion
tab=$'\t'
declare -A recorded=() # CPU seconds of a step
while IFS=$tab read -r of name seconds; do
  [ "$of" != $record ] || recorded[$name]=$seconds
done <scripts/test_cpu.tsv
measured=() # lines for the record

cpu() { # centiseconds of all processes that this one has waited for
  local stat
  read -ra stat <"/proc/$$/stat"
  echo $((stat[15] + stat[16]))
}

add_row() { # name, seconds, CPU seconds, tests, mark
  local was=${recorded[$1]:-} mark=$5
  # Ten seconds more may be noise.
  if [ -n "$was" ] && (($3 * 3 >= was * 4 && $3 - was >= 10)); then mark+=" A THIRD MORE"; fi
  rows+=("$(printf '%-34s %8d %8d %8s %7s %s' "$1" "$2" "$3" "$was" "$4" "$mark")")
  measured+=("$record$tab$1$tab$3")
}

end_step() { # [mark]
  [ -z "$step" ] || add_row "$step" $((SECONDS - step_began)) $((($(cpu) - step_cpu) / 100)) "$step_tests" "${1:-}"
  step=''
}

begin_step() { # name
  end_step
  step=$1 step_tests='' step_began=$SECONDS step_cpu=$(cpu) on_failure=()
  printf '\n== %s (%s s so far)\n' "$step" "$SECONDS"
}

finish() {
  local status=$? failed=$step
  if [ $status -eq 0 ]; then end_step; else end_step FAILED; fi
  add_row total "$SECONDS" $(($(cpu) / 100)) '' ''
  mkdir -p build
  {
    printf '%-34s %8s %8s %8s %7s\n' step seconds 'CPU s' recorded tests
    printf '%s\n' "${rows[@]}"
  } >build/test-times.txt
  echo
  cat build/test-times.txt
  rm -f build/test_cpu.tsv
  if [ $status -eq 0 ]; then
    { grep -v "^$record$tab" scripts/test_cpu.tsv; printf '%s\n' "${measured[@]}"; } >build/test_cpu.tsv
  elif [ ${#on_failure[@]} -gt 0 ]; then
    echo && "${on_failure[@]}"
  else
    printf '\nFAILED: %s; its output is above the table.\n' "$failed"
  fi
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- the steps ------------------------------------------------------------------------------------

# Of GoogleTest's lines, those of cases that failed, or that did not end.
failed_cases() {
  awk '/^\[ RUN +\]/ { held = $0; next }
       /^\[ +OK \]/ { held = ""; next }
       held != "" { print held; held = "" }
       /^ *Start +[0-9]+:| Passed +[0-9.]+ sec$|^\[-+\]/ { next }
       { print; fflush() }
       END { if (held != "") print held }'
}

run_preset() { # preset, its tests as arguments of select_tests.py; definitions for cmake begin with -D
  local preset=$1 chosen argument definitions=() selection=()
  shift
  for argument in "$@"; do
    if [[ $argument == -D* ]]; then definitions+=("$argument"); else selection+=("$argument"); fi
  done
  rm -rf "build/$preset"/{build.log,test.log,junit.xml,gtest}
  begin_step "$preset: build"
  on_failure=(scripts/report_failures.py "$preset")
  cmake --preset "$preset" -Wno-dev --no-warn-unused-cli -DLIDO_STRESS_SECONDS="$stress_seconds" \
    -DLIDO_FUZZ_SECONDS="$fuzz_seconds" -DLIDO_MODEL_EXECUTIONS="$executions" \
    "${definitions[@]}" >/dev/null
  chosen=$(scripts/select_tests.py "build/$preset" "${selection[@]}")
  # shellcheck disable=SC2046  # a word for each target
  cmake --build --preset "$preset" --target $(sed -n 2p <<<"$chosen") -- -v >"build/$preset/build.log" 2>&1 ||
    { grep -E 'error|warning|FAILED|undefined' -A 5 "build/$preset/build.log" | tail -n 80; return 1; }
  begin_step "$preset: test"
  on_failure=(scripts/report_failures.py "$preset")
  local status=0
  # Three tests on two processors: many wait most of their time.
  ctest --preset "$preset" -j $(($(nproc) * 3 / 2)) -I "0,0,0,$(sed -n 1p <<<"$chosen")" --timeout "$most_seconds" \
    --output-on-failure --no-tests=error --output-junit junit.xml --test-output-size-passed 1000000 2>&1 |
    tee "build/$preset/test.log" | failed_cases || status=$?
  step_tests=$(scripts/report_runs.py "$preset")
  return $status
}

begin_step "install"
if [ $scope = all ]; then setup+=(test all); else setup+=(test); fi
[ $soak = no ] || setup+=(soak)
scripts/setup.sh "${setup[@]}"

# Layers whose tests run threads beside one another. Each by itself: that one has no tests any more is an error.
threads=()
add_threads() {
  for layer in "$@"; do threads+=("unit[.]$layer\$"); done
}
add_threads concurrency rmw_counter freelist allocator

if [ $scope = share ]; then
  # What sanitizers cannot show: instructions, programs without exceptions, refusals of the compiler, packages, the
  # model. With four drivers and two fuzz targets, in threads that lose their processor at any access, and mutants that
  # they notice soon, also beside other work.
  share=('unit[.](debug_system|fibers)$' 'compile_fail[.]' 'disassembly[.]' 'model[.](?!spin|complete)'
    'stress[.]fuzzed[.]allocator[.]no_slot_is_lost' 'stress[.]fuzzed[.]object[.]history'
    'stress[.]fuzzed[.]slot_map[.]history' 'stress[.]fuzzed[.]resource[.]no_waiter_is_forgotten'
    'mutant[.](item_after_top|no_arbitration)$' 'mutant[.].*[.]history'
    'mutant[.](same_state_generation|leave_doomed)$' 'mutant[.](use_unmarked|swallow_resource)$' 'mutant[.]none[.]'
    '(fuzz|mutant)[.].*(pool_windows|cache_operations)')
  run_preset gcc --label 'docs|house|package' "${share[@]}" -DLIDO_BUILD_BENCH=OFF
  # All unit tests, each once: memory errors and undefined behaviour.
  run_preset asan --label 'unit|death'
  # Data races: in the drivers, with this system's back end and one of the two kinds of Asio, and in the layers that
  # threads share.
  run_preset tsan "${threads[@]}" 'stress[.](?!fuzzed|posix|resource[.]each_wait_ends_once[.]asio)'
  exit
fi

# Wrong results, instructions, models, mutants, packages, examples and benches.
run_preset gcc . -DLIDO_BUILD_BENCH=ON
cmake --build --preset gcc >>build/gcc/build.log # also what no test runs must compile
# Data races. Sanitizers add nothing to the tests of stalled and sleeping threads.
faults='fault[.](?!stalled_thread|sleeping_thread)'
add_threads debug registry trace object object_checked growing pmr c slot_map testing
add_threads keyed resource server_cases asio standalone_asio
run_preset tsan --label 'stress|chaos' "$faults" "${threads[@]}"
# Memory errors, leaks and undefined behaviour; inputs that libFuzzer makes.
asan='unit|death|fuzz|server|chaos'
[ $soak = no ] || asan+='|stress|fault'
run_preset asan --label "$asan" "$faults"
# What another compiler makes of the library: instructions, what it refuses, and what debuggers see.
if [ $soak = yes ]; then
  run_preset clang --label 'unit|report|package|distribution|fuzz' -DLIDO_BUILD_EXAMPLES=ON -DLIDO_BUILD_STRESS=ON
else
  # Of the packages those in which the compiler matters.
  run_preset clang --label report 'package[.](clean|install|installed|no_exceptions.*)$' 'compile_fail[.]' \
    -DLIDO_BUILD_EXAMPLES=OFF -DLIDO_BUILD_STRESS=OFF
fi

# The library for another processor: its unit tests under an emulator. What of them is not run there is said as the
# commands themselves have it.
run_emulated() { # preset, Debian's name of the machine, QEMU's name of the processor, layers
  if command -v "$2-g++" >/dev/null && command -v "qemu-$3-static" >/dev/null; then
    run_preset "$1" . "-DLIDO_UNIT_LAYERS=$4"
    echo "$1, left out: all that is no unit test and no look at instructions; of the unit tests, layers other than"
    echo "$4; and of these, for the reasons in tests/CMakeLists.txt:"
    ctest --preset "$1" --show-only --verbose | sed -nE 's/.*--gtest_filter=-([^" ]+).*/\1/p' | sort -u | tr ':' '\n' | sed 's/^/  /'
  else
    echo "$1, left out altogether: no $2-g++ or no qemu-$3-static"
  fi
}

run_where_installed() { # command, arguments of run_preset
  if command -v "$1" >/dev/null; then run_preset "${@:2}"; else echo "$2, left out altogether: no $1"; fi
}

# arm64 also for its instructions; the layers that processors differ in, or all.
layers='base;concurrency;rmw_counter;freelist;allocator'
[ $soak = no ] || layers=all
run_emulated arm64 aarch64-linux-gnu aarch64 "$layers"
if [ $soak = yes ]; then
  # Big endian, 32 bits (i386 without the emulator, where the system allows), and weaker memory orders.
  layers='base;concurrency;freelist;allocator;object;slot_map;pmr'
  run_emulated s390x s390x-linux-gnu s390x "$layers"
  run_emulated armhf arm-linux-gnueabihf arm "$layers"
  run_emulated i386 i686-linux-gnu i386 "$layers"
  run_emulated riscv64 riscv64-linux-gnu riscv64 "$layers"
  run_emulated ppc64le powerpc64le-linux-gnu ppc64le "$layers"
  # What is mostly templates, with the oldest and the newest compiler.
  run_where_installed g++-11 gcc-11 'unit[.](object|pmr|slot_map)$'
  run_where_installed clang++-22 clang-22 'unit[.](object|pmr|slot_map)$'
  run_where_installed emcc wasm 'unit[.]core_wasm$'
fi
# Windows, for the layers that the system differs in or that most use, with a few drivers and examples.
if command -v x86_64-w64-mingw32-g++-posix >/dev/null && command -v wineserver >/dev/null && [ -x /usr/lib/wine/wine64 ]; then
  windows=(--label docs 'unit[.](base|concurrency|freelist|allocator|object|slot_map|pmr|resource|keyed)$'
    'stress[.]object[.](no_slot_has_two_owners|blocked_acquire_wakes)' 'windows[.]')
  [ $soak = no ] || windows=(.)
  run_preset mingw "${windows[@]}"
  echo "Windows under Wine, left out: what tests/windows.cmake lists, and all that is none of: ${windows[*]}"
else
  echo "Windows, left out altogether: no x86_64-w64-mingw32-g++-posix, no wineserver or no /usr/lib/wine/wine64"
fi
# Another standard library and a newer compiler, for the layers that are templates or use most of either.
if command -v clang++-19 >/dev/null && [ -e build/libc++/usr/lib/llvm-19/lib/libc++.so ]; then
  run_preset libcxx 'unit[.](allocator|object|pmr|slot_map)$'
else
  echo "Clang 19 with libc++, left out altogether: setup.sh could not install them"
fi
begin_step "clang-tidy and clang-format"
scripts/tidy.sh build/clang src
if [ $soak = yes ]; then
  missed=() # goes into the report, too
  for script in coverage.sh measure_checked.py measure_sharing.py stress_mutants.py slips.py soak_chaos.py soak_outages.py ports.sh; do
    begin_step "$script"
    "scripts/$script" || missed+=("$script")
  done
  begin_step "build/verification.md"
  scripts/report_verification.py
  [ ${#missed[@]} -eq 0 ] || { echo "missed: ${missed[*]}" >&2; exit 1; }
fi
