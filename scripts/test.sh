#!/usr/bin/env bash
# Installs, builds and runs all tests. Those that need a GPU are skipped, visibly, where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/build.sh release
ctest --preset release -j "$(nproc)" "$@"
