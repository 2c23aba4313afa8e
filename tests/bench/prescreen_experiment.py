#!/usr/bin/env python3
"""What asking the time model first saves, on a real GPU: every task of a folder is searched without it
(--no-prescreen, 100 evaluations) and with it (60), and the evaluations are counted that the second
needs to reach the best of the first.

  tests/bench/prescreen_experiment.py --seed 11 --databases DIR [--hone build/release/bin/hone]
  tests/bench/prescreen_experiment.py --databases DIR --only-table     # of databases that are there

Prints a Markdown table; `reached` is to within 1 %."""

import argparse
import pathlib
import sqlite3
import statistics
import subprocess
import sys


def series(database):
    """(verdict, time [us]) of the evaluations in their order."""
    with sqlite3.connect(database) as db:
        return list(db.execute("SELECT verdict, time_us FROM results ORDER BY id"))


def best(results):
    return min(time for verdict, time in results if verdict == "ok" and time)


def reached(results, target):
    for number, (verdict, time) in enumerate(results, 1):
        if verdict == "ok" and time and time <= 1.01 * target:
            return number
    return None


def search(args, task, database, *options):
    command = [args.hone, "optimize", str(task), "--device", args.device, "--seed", str(args.seed),
               "--db", str(database), "--quiet", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=pathlib.Path, default=pathlib.Path("baselines"))
    parser.add_argument("--databases", type=pathlib.Path, required=True)
    parser.add_argument("--hone", default="build/release/bin/hone")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--full", type=int, default=100, help="evaluations without the model")
    parser.add_argument("--screened", type=int, default=60, help="evaluations with it")
    parser.add_argument("--only-table", action="store_true")
    args = parser.parse_args()
    args.databases.mkdir(parents=True, exist_ok=True)

    print(f"| task | best of {args.full} | best of {args.screened}, screened | ratio | reached after |")
    print("| --- | --- | --- | --- | --- |")
    counts = []
    for task in sorted(args.tasks.glob("*/*.cu")):
        full = args.databases / f"{task.stem}.full.db"
        screened = args.databases / f"{task.stem}.pre.db"
        if not args.only_table:
            search(args, task, full, "--no-prescreen", "--budget", str(args.full))
            search(args, task, screened, "--budget", str(args.screened))
        without, with_model = series(full), series(screened)
        number = reached(with_model, best(without))
        # A space that is smaller than the budget is searched whole.
        counts.append((number or float("inf")) / min(args.full, len(without)))
        print(f"| {task.stem} | {best(without):.1f} us | {best(with_model):.1f} us | "
              f"{best(with_model) / best(without):.3f} | {number or '-'} of {min(args.full, len(without))} |")
    print(f"\nMedian of {len(counts)} tasks: {100 * statistics.median(counts):.0f} % of the evaluations; "
          f"{sum(c == float('inf') for c in counts)} tasks not reached.")


if __name__ == "__main__":
    main()
