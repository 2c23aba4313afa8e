#!/usr/bin/env bash
# Configures and builds one preset, quietly: one line of progress on a terminal, a few elsewhere.
# Usage: scripts/build.sh [PRESET] [-DOPTION=VALUE...] [TARGET...]      (default: release, all targets)
set -euo pipefail
cd "$(dirname "$0")/.."
preset=release options=() targets=()
if [ $# -gt 0 ] && [[ $1 != -* ]]; then preset=$1; shift; fi
for argument in "$@"; do
  if [[ $argument == -D* ]]; then options+=("$argument"); else targets+=("$argument"); fi
done
mkdir -p build
cmake --preset "$preset" "${options[@]}" >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 1; }
build=(cmake --build --preset "$preset")
[ ${#targets[@]} = 0 ] || build+=(--target "${targets[@]}")
if [ -t 1 ]; then
  NINJA_STATUS='building %p, %f of %t: ' exec "${build[@]}"
fi
# Ninja prints a line for each step here. Kept are every fifth of the way and what compilers say.
next=0
NINJA_STATUS='@%p@' "${build[@]}" 2>&1 | while IFS= read -r line; do
  if [[ $line =~ ^@\ *([0-9]+)%@ ]]; then
    if [ "${BASH_REMATCH[1]}" -ge $next ]; then
      echo "build: ${BASH_REMATCH[1]} %"
      next=$((BASH_REMATCH[1] / 20 * 20 + 20))
    fi
  elif [[ $line != "ninja: no work to do." ]]; then
    printf '%s\n' "$line"
  fi
done
