#!/usr/bin/env bash
# Installs, builds, searches for a faster matmul and shows the leaderboard. On a machine with a GPU
# it measures there; elsewhere on the emulated sm_90, where every number is modelled.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/build.sh release
hone=build/release/bin/hone
db=build/quickstart.db
"$hone" doctor
"$hone" optimize baselines/matmul/matmul.cu --budget "${HONE_BUDGET:-90s}" --db "$db" --json build/quickstart.json
best=$(sed -n 's/^ *"candidate": "\([0-9a-f]*\)".*/\1/p' build/quickstart.json | head -n 1)
"$hone" export "$best" --db "$db" -o build/quickstart_best.cu
echo
"$hone" leaderboard --db "$db"
echo
echo "the best program is in build/quickstart_best.cu"
