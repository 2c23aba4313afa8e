#!/usr/bin/env bash
# Installs, builds and runs all tests. Those that need a GPU are skipped, visibly, where there is none.
# What scripts/quickstart.sh has built is not built again. Arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh tests
scripts/build.sh release -DHONE_TESTS=ON -DHONE_FUZZ=ON
ctest --preset release -j "$(nproc)" "$@"
