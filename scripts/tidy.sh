#!/usr/bin/env bash
# clang-tidy-19 on what changed since BASE (default: the last commit; uncommitted changes count): findings in the
# changed lines are errors. Installs clang-tidy-19 where it is missing.
# Usage: scripts/tidy.sh [BASE]
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-HEAD~1}
git rev-parse --verify --quiet "$base^{commit}" >/dev/null || { echo "tidy: there is no commit '$base'" >&2; exit 2; }
if ! command -v clang-tidy-19 >/dev/null; then
  root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends clang-tidy-19 >/dev/null
fi
mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- '*.cpp' '*.h')
if [ ${#files[@]} = 0 ]; then echo "tidy: no C++ file changed since $base"; exit 0; fi

# The compile commands of every file by itself, without g++'s precompiled headers.
cmake --preset tidy >build/tidy.log 2>&1 || { cat build/tidy.log >&2; exit 1; }
# Generated sources are read by some files.
lines='' sources=()
for file in "${files[@]}"; do
  # Changed lines as [first,last] pairs: what was there before is not this change's.
  ranges=$(git diff -U0 "$base" -- "$file" | sed -n 's/^@@ -[0-9,]* +\([0-9]*\),\{0,1\}\([0-9]*\) @@.*/\1 \2/p' |
    awk '{n = ($2 == "") ? 1 : $2; if (n > 0) printf "%s[%d,%d]", (c++ ? "," : ""), $1, $1 + n - 1}')
  [ -n "$ranges" ] || continue
  lines+="${lines:+,}{\"name\":\"$file\",\"lines\":[$ranges]}"
  [[ $file != *.cpp ]] || sources+=("$file")
done
mapfile -t known < <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/tidy/compile_commands.json)
checked=()
for source in "${sources[@]}"; do
  for file in "${known[@]}"; do
    if [ "$file" = "$PWD/$source" ]; then checked+=("$source"); break; fi
  done
done
if [ ${#checked[@]} = 0 ]; then echo "tidy: no source that is compiled changed since $base"; exit 0; fi
printf '%s\0' "${checked[@]}" |
  xargs -0 -P "$(nproc)" -n 1 clang-tidy-19 -p build/tidy --quiet --line-filter="[$lines]"
echo "tidy: ${#checked[@]} files are clean"
