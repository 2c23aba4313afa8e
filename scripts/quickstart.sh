#!/usr/bin/env bash
# Installs, builds, searches for a faster matmul and shows the leaderboard. On a machine with a GPU
# it measures there; elsewhere on the emulated sm_90, where every number is modelled.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/build.sh release hone hone-runner hone-sandbox
hone=build/release/bin/hone
db=build/quickstart.db
"$hone" doctor
best_of() { sed -n 's/^ *"candidate": "\([0-9a-f]*\)".*/\1/p' build/quickstart.json | head -n 1; }
# A second run has nothing left to do: the search is repeated only for a new binary or a new budget.
if [ -z "${HONE_BUDGET:-}" ] && [ -s "$db" ] && [ build/quickstart.json -nt "$hone" ] && [ -n "$(best_of)" ]; then
  echo "searched already; remove build/quickstart.json to search again"
else
  "$hone" optimize baselines/matmul/matmul.cu --budget "${HONE_BUDGET:-90s}" --db "$db" --json build/quickstart.json
fi
best=$(best_of)
"$hone" export "$best" --db "$db" -o build/quickstart_best.cu
echo
"$hone" leaderboard --db "$db"
echo
echo "the best program is in build/quickstart_best.cu"
