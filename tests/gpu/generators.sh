#!/usr/bin/env bash
# Searches each task on a GPU and prints its best beside PyTorch and cuBLAS on the same machine.
# Usage: tests/gpu/generators.sh HONE BUDGET OUT TASK.cu[@BUDGET] ...
set -uo pipefail
hone=$1 budget=$2 out=$3
shift 3
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$out"
python3 "$root/baselines/torch_baseline.py" --hone "$hone" --json "$out/torch.json" "${@%@*}" >"$out/torch.log" 2>&1
for task in "$@"; do
  own=$budget
  [[ $task == *@* ]] && own=${task##*@}
  echo "== ${task%@*}, $own"
  "$hone" optimize "${task%@*}" --device cuda:0 --budget "$own" --finalists 2 --db "$out/db" --quiet 2>&1 |
    tee -a "$out/log.txt" | grep -E "best|generate|reference|proposed|error" | cut -c1-250
done
"$hone" baseline "${@%@*}" --from "$out/torch.json" --device cuda:0 --db "$out/db" >"$out/baseline.log" 2>&1
"$hone" leaderboard --db "$out/db" --all-tasks 2>&1 | tee "$out/board.txt"
