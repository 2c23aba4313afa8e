#!/usr/bin/env bash
# The tiers of what is checked.
#   scripts/ci.sh quick [BASE]   format, rooms' arrows, headers, unit and golden tests; clang-tidy on what changed since
#                                BASE (default: the commit before this one)
#   scripts/ci.sh full           everything: what .ci/run runs
#   scripts/ci.sh nightly        sanitizers, long fuzzing, chaos and 1000 random nests: before an issue is resolved
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  quick)
    scripts/setup.sh tests
    scripts/build.sh release -DHONE_TESTS=ON -DHONE_WERROR=ON quick_tests
    ctest --preset release -L quick -j "$(nproc)"
    scripts/tidy.sh "${2:-HEAD~1}"
    ;;
  full)
    scripts/setup.sh tests
    scripts/build.sh release -DHONE_TESTS=ON -DHONE_FUZZ=ON -DHONE_WERROR=ON
    # Attacks meet secret inputs, and servers are timed: a test may fail by a rare draw or on a busy machine. It fails
    # the run only if it fails twice; what failed once is listed.
    output=$(mktemp)
    trap 'rm -f "$output"' EXIT
    status=0
    # Tests of servers mostly wait: half as many again as there are cores keep these busy.
    ctest --preset release -j "$(($(nproc) * 3 / 2))" --repeat until-pass:2 | tee "$output" || status=$?
    echo "failed at the first try:"
    grep -E '\*\*\*(Failed|Timeout|Exception)' "$output" || echo "  none"
    exit "$status"
    ;;
  nightly)
    scripts/setup.sh tests
    # Every error is wanted, not only the first one's.
    failed=()
    step() { echo "nightly: $*"; "$@" || failed+=("$*"); }
    step scripts/build.sh dev quick_tests
    # LLVM's own libraries are not built with the sanitizer: what its allocator's inline part poisons there, they use.
    step env ASAN_OPTIONS=allow_user_poisoning=0 ctest --preset dev -L quick -j "$(nproc)"
    step scripts/build.sh tsan emulator_tests
    step env TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp" build/tsan/bin/emulator_tests
    step scripts/build.sh release -DHONE_TESTS=ON -DHONE_FUZZ=ON
    for target in protocol task queue reply record model pt2; do
      fuzzer=build/release/tests/fuzz/${target}_fuzz
      if [ ! -x "$fuzzer" ]; then echo "nightly: no $fuzzer (libclang-rt-19-dev)"; continue; fi
      mkdir -p "build/fuzz_found/$target"
      step "$fuzzer" -max_total_time="${HONE_FUZZ_SECONDS:-600}" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="build/fuzz_found/${target}_" "build/fuzz_found/$target" "tests/fuzz/corpus/$target" baselines
    done
    step env HONE_CHAOS_JOBS=60 HONE_CHAOS_ROUNDS=50 HONE_CHAOS_BUDGET=40 \
      build/release/bin/service_tests --gtest_filter='*Chaos*'
    step build/release/bin/random_nests --from 0 --count 1000 --generators
    step scripts/build.sh release -DHONE_TESTS=ON rewriters_tests
    step env HONE_RANDOM_TILES=1000 build/release/bin/rewriters_tests --gtest_filter='TileRandom.*'
    if [ ${#failed[@]} -gt 0 ]; then
      printf 'nightly: failed: %s\n' "${failed[@]}" >&2
      exit 1
    fi
    ;;
  *)
    echo "usage: scripts/ci.sh quick [BASE] | full | nightly" >&2
    exit 2
    ;;
esac
