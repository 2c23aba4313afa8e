#!/usr/bin/env python3
"""What one evaluation costs in seconds of processors, by stage: searches of fixed length on the emulator, by HONE_TRACE.

Usage: tests/bench/evaluation_cost.py [--evaluations N] [--rounds N] [--seed N] [--hone HONE]... TASK...

With several --hone, each of the rounds runs all of them in turn, so that what else the machine does meets all alike. Each
search has an empty compile cache and database. Printed are the least of all rounds, in ms of a processor for one evaluation;
there is one finalist, whose costs are divided by the evaluations, too. Where several programs are named, it is also said how
many candidates of the search have the same verdict and modelled time. A final stage draws sizes and inputs anew in each run,
so its costs and answers differ.
"""

import argparse
import collections
import os
import re
import sqlite3
import subprocess
import tempfile

LINE = re.compile(r"\[[\d.]+ \d+ \+([\d.]+)\] (.*)")
STAGES = [("compiled .* to 0 in", "compile for the emulator"),
          ("compiled ", "compile for timing (ptxas)"),
          ("check at the timed size", "check at the timed size"),
          ("check", "check at the check sizes"),
          ("comparison|timed, ", "comparison at the timed size"),
          ("model", "time model"),
          ("admission", "admission"),
          ("rewriting: apply", "rewrite"),
          ("rewriting: proposals", "propose"),
          ("rewriting", "other rewriting"),
          ("", "hone itself and the rest")]


def search(hone, task, seed, evaluations, folder):
    """Seconds of processors by stage, and what the database says of the candidates."""
    database = os.path.join(folder, "hone.db")
    environment = dict(os.environ, HONE_TRACE="1", XDG_CACHE_HOME=os.path.join(folder, "cache"))
    ran = subprocess.run([hone, "optimize", task, "--device", "emu:sm_90", "--no-known", "--quiet", "--finalists", "1",
                          "--seed", str(seed), "--budget", str(evaluations), "--db", database],
                         env=environment, capture_output=True, text=True, check=True)
    seconds = collections.Counter()
    final = ""
    for line in ran.stderr.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        said = match[2]
        if said.startswith("gates: final stage begins"):
            final = "final: "
        stage = next(name for pattern, name in STAGES if re.match(pattern, said))
        seconds[final + stage] += float(match[1])
    rows = sqlite3.connect(database).execute(
        "SELECT candidate, verdict, time_us FROM results WHERE final = 0 ORDER BY 1").fetchall()
    return seconds, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--hone", action="append")
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    programs = options.hone or ["build/release/bin/hone"]
    for task in options.tasks:
        least = [{} for _ in programs]
        told = [None for _ in programs]
        for _ in range(options.rounds):
            for i, hone in enumerate(programs):
                with tempfile.TemporaryDirectory() as folder:
                    seconds, told[i] = search(hone, task, options.seed, options.evaluations, folder)
                seconds["all"] = sum(seconds.values())
                for stage, value in seconds.items():
                    least[i][stage] = min(value, least[i].get(stage, value))
        print(f"{task}: ms of a processor for each of {options.evaluations} evaluations")
        for stage in sorted(set().union(*least), key=lambda s: -max(one.get(s, 0) for one in least)):
            numbers = "".join(f"{1e3 * one.get(stage, 0) / options.evaluations:10.1f}" for one in least)
            print(f"{numbers}  {stage}")
        for hone, rows in zip(programs[1:], told[1:]):
            print(f"  {len(set(rows) & set(told[0]))} of {len(told[0])} candidates, verdicts and times are those of "
                  f"{programs[0]} ({hone})")


if __name__ == "__main__":
    main()
