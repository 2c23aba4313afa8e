#!/usr/bin/env python3
"""How soon a search knows what an earlier one found: the same task again, and one a tenth larger.

    tests/bench/known_first.py TASK.cu... [--hone build/release/bin/hone] [--device cuda:0] [--long 15] [--short 5]
                               [-o results.json]

Of each task: its best of LONG seconds, kept in a database; how long after the start of a second search, of SHORT seconds
with that database, a program within 2 % of it stood; then the task with its largest size a tenth larger: the best of SHORT
seconds with the database over the best of LONG seconds with nothing known (above 1: slower). Times of final stages but for
"stands after", which is of quick ones. A new database each time: what the GPU reaches is measured before.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from searches import enlarged

WITHIN = 1.02
PROGRESS = re.compile(r"\[\s*([\d.]+) s\].*best ([\d.]+) (us|ms|s)\b")
UNIT_US = {"us": 1, "ms": 1e3, "s": 1e6}


def search(options, task, seconds, database, *more):
    """Its best time [us], and what it said while it ran."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        ended = subprocess.run(
            [options.hone, "optimize", str(task), "--device", options.device, "--budget", f"{seconds}s", "--db", str(database),
             "--json", out.name, *more], text=True, capture_output=True, check=False)
        if ended.returncode != 0:
            sys.exit(f"{task}: {ended.stderr.strip().splitlines()[-1]}")
        result = json.loads(pathlib.Path(out.name).read_text())
    return (result.get("best") or {"time_us": result["reference"]["time_us"]})["time_us"], ended.stderr


def stands_after_s(said, best_us):
    """Seconds from the start until a best within WITHIN of `best_us` was told; None: it never was."""
    for line in said.splitlines():
        told = PROGRESS.search(line)
        if told and float(told.group(2)) * UNIT_US[told.group(3)] <= WITHIN * best_us:
            return float(told.group(1))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", type=pathlib.Path)
    parser.add_argument("--hone", default="build/release/bin/hone")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--long", type=float, default=15)
    parser.add_argument("--short", type=float, default=5)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    print(f"{'task':40} {'best us':>10} {'stands after s':>15} {'larger: short, known / long, alone':>35}")
    for task in options.tasks:
        with tempfile.TemporaryDirectory() as scratch:
            known, alone = f"{scratch}/known.db", f"{scratch}/alone.db"
            best_us, _ = search(options, task, options.long, known)
            _, said = search(options, task, options.short, known)
            larger = pathlib.Path(scratch) / task.name
            larger.write_text(enlarged(task.read_text()))
            short_us, _ = search(options, larger, options.short, known)
            alone_us, _ = search(options, larger, options.long, alone, "--no-known")
        rows.append({"task": task.stem, "best_us": best_us, "stands_after_s": stands_after_s(said, best_us),
                     "larger_short_us": short_us, "larger_alone_us": alone_us})
        row = rows[-1]
        after = "never" if row["stands_after_s"] is None else f"{row['stands_after_s']:.1f}"
        print(f"{task.stem:40} {best_us:10.1f} {after:>15} {short_us / alone_us:35.3f}", flush=True)
        if options.output:
            options.output.write_text(json.dumps(rows, indent=1) + "\n")


main()
