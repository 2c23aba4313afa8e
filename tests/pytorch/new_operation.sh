#!/usr/bin/env bash
# What scripts/new_operation.sh writes compiles, in a family of its own and in one that is there.
#   new_operation.sh REPOSITORY CXX
set -euo pipefail
repository=$1
cxx=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cd "$repository"
mkdir -p "$copy/scripts" "$copy/tests/pytorch"
cp -r candidates "$copy/"
cp scripts/new_operation.sh "$copy/scripts/"
cp -r tests/pytorch/modules "$copy/tests/pytorch/"
cd "$copy"

fails() {
  if "$@" > /dev/null 2>&1; then
    echo "should have failed: $*"
    exit 1
  fi
}
fails scripts/new_operation.sh
fails scripts/new_operation.sh Twice scaffolded
fails scripts/new_operation.sh relu scaffolded  # is there
fails scripts/new_operation.sh twice pointwise  # keeps its operators as formulas
scripts/new_operation.sh twice scaffolded
scripts/new_operation.sh thrice scaffolded
scripts/new_operation.sh fourfold scans
fails scripts/new_operation.sh fourfold scans

for file in operations operations/scaffolded operations/scans; do
  "$cxx" -std=c++23 -Wall -Wextra -Werror -fsyntax-only -I "$copy" "candidates/pytorch/$file.cpp"
done
for name in twice thrice; do
  grep -q "{\"aten.$name.default\", $name}" candidates/pytorch/operations/scaffolded.cpp
done
grep -q '{"aten.fourfold.default", fourfold}' candidates/pytorch/operations/scans.cpp
[ "$(grep -c 'scaffolded_operations' candidates/pytorch/operations.cpp)" = 1 ]
[ "$(grep -c 'scaffolded_operations' candidates/pytorch/operations.h)" = 1 ]
# The declaration stands right behind that of another family, not behind a comment on something else.
grep -B 1 'scaffolded_operations' candidates/pytorch/operations.h | head -1 | grep -q '^std::span.*_operations();$'
grep -q 'def twice' tests/pytorch/modules/scaffolded.py
grep -q 'def fourfold' tests/pytorch/modules/scans.py
for family in scaffolded scans; do
  grep -q '^from modules.helpers import .*\baten\b.*\bof\b.*\brand\b' "tests/pytorch/modules/$family.py"
done
if command -v python3 > /dev/null; then
  python3 -m py_compile tests/pytorch/modules/scaffolded.py tests/pytorch/modules/scans.py
fi
