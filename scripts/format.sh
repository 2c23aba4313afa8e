#!/usr/bin/env bash
# Formats every tracked C and C++ file with clang-format-19; with --check only says which files are not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."
format=$(command -v clang-format-19 || true)
if [ -z "$format" ]; then
  echo "format: clang-format-19 is missing; scripts/setup.sh tests installs it" >&2
  exit 77
fi
mode=(-i)
[ "${1:-}" != --check ] || mode=(--dry-run --Werror)
git ls-files -z -- '*.h' '*.c' '*.cpp' | xargs -0 -P "$(nproc)" -n 40 "$format" "${mode[@]}"
