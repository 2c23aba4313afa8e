#!/usr/bin/env python3
"""Looks for rows on a modelled board that no GPU would rank. Exits 1 where there is one, 2 where it could not look.

    tests/bench/check_board.py DATABASE [--hone build/release/bin/hone] [--device emu:sm_90] [--no-ablation]

The database comes from `hone bench baselines --device emu:sm_90 --budget 60 --db DATABASE`. On every board:
no two rows of one machine code; no row above the roof; no winner that spills and is not charged for it; no step of
a winner's recipe without which the program is as fast (one evaluation a step: minutes for eighteen tasks).
"""
import argparse
import json
import subprocess
import sys

NOISE = 0.002  # of a modelled time, which depends a little on the blocks that are drawn
UNCERTAINTY = 0.02  # of an emulated device's ceilings: evaluator/roofline/README.md


def document(hone, *arguments):
    ended = subprocess.run([hone, *arguments, "--json", "-"], text=True, capture_output=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"hone {' '.join(arguments)}: {ended.stderr.strip()}") if ended.returncode != 2 else sys.exit(2)
    return json.loads(ended.stdout)


def twins(rows):
    """Rows whose machine code stands higher on the board."""
    seen = {}
    for row in rows:
        code = row["code_hash"]
        if code and code in seen:
            yield f"{row['candidate']} is the same machine code as {seen[code]}"
        seen.setdefault(code, row["candidate"])


def above_roof(rows):
    for row in rows:
        reached = row["roof_fraction"]
        if reached > 1 + UNCERTAINTY:
            yield f"{row['candidate']} reaches {100 * reached:.1f} % of the roof"


def uncharged(winner):
    evaluation = winner["evaluation"]
    spilled = sum(kernel["spill_bytes"] for kernel in evaluation["resources"])
    if spilled > 0 and evaluation["measurement"]["counters"].get("local_lines", 0) <= 0:
        yield f"{winner['candidate']} spills {spilled} B, and nothing is charged for it"


def idle_steps(winner):
    for step in winner["ablation"]["without"]:
        # With what needs it, a step is more than itself.
        if step["verdict"] == "ok" and not step["left_out_with_it"] and step["worth"] <= 1 + NOISE:
            yield f"{winner['candidate']}: {step['step']} is worth nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("--hone", default="build/release/bin/hone")
    parser.add_argument("--device", default="emu:sm_90")
    parser.add_argument("--no-ablation", action="store_true", help="leave the steps out")
    options = parser.parse_args()
    boards = document(options.hone, "leaderboard", "--modelled", "--limit", "1000", "--db", options.database)["boards"]
    if not boards:
        sys.exit("there is no modelled board in it")
    found = 0
    for board in boards:
        wrong = [*twins(board["rows"]), *above_roof(board["rows"])]
        best = next((row for row in board["rows"] if row["origin"] != "reference"), None)
        if best is not None:
            more = [] if options.no_ablation or not best["recipe"] else ["--ablate", "--device", options.device]
            winner = document(options.hone, "show", best["candidate"], *more, "--db", options.database)
            wrong += uncharged(winner)
            if more:
                wrong += idle_steps(winner)
        print(f"{board['task']:22} {len(board['rows']):3} rows: {'; '.join(wrong) or 'nothing wrong'}", flush=True)
        found += len(wrong)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
