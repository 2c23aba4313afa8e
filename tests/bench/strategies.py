#!/usr/bin/env python3
"""Which strategy finds the faster programs: each on every task of some folders, with the same budget and seeds.

    tests/bench/strategies.py FOLDER... [--hone build/release/bin/hone] [--device emu:sm_90] [--budget 40]
                              [--strategies evolve,random] [--seeds 1,2] [-o results.json]

Prints, for each strategy, the geometric mean over tasks and seeds of its best time over the best that any strategy found
with any seed (1 is the best there can be), and in how many runs it was within 2 % of that. On an emulated device with a
number of evaluations as budget a run repeats exactly; times are modelled. Nothing known is used. Goes on where OUT ends.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile


def strategies_of(hone):
    """All that `hone optimize --help` lists."""
    text = subprocess.run([hone, "optimize", "--help"], text=True, capture_output=True, check=True).stdout
    option = " ".join(re.search(r"^ *--strategy .*?(?=^ *--)", text, re.MULTILINE | re.DOTALL)[0].split())
    return re.findall(r"[:;] (\w+): ", option)


def best_us(options, task, strategy, seed):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "result.json"
        ended = subprocess.run(
            [options.hone, "optimize", str(task), "--device", options.device, "--budget", options.budget, "--strategy",
             strategy, "--seed", str(seed), "--no-known", "--finalists", "1", "--quiet", "--db", f"{scratch}/hone.db",
             "--json", str(out)], text=True, capture_output=True, check=False)
        if ended.returncode != 0:
            sys.exit(f"{task} {strategy}: {ended.stderr.strip()}")
        result = json.loads(out.read_text())
        return (result.get("best") or {"time_us": result["reference"]["time_us"]})["time_us"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--hone", default="build/release/bin/hone")
    parser.add_argument("--device", default="emu:sm_90")
    parser.add_argument("--budget", default="40")
    parser.add_argument("--strategies", default="")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("-o", "--output", default="")
    options = parser.parse_args()
    strategies = options.strategies.split(",") if options.strategies else strategies_of(options.hone)
    tasks = sorted(path for folder in options.folders for path in pathlib.Path(folder).rglob("*.cu")
                   if "/* hone" in path.read_text(errors="replace"))
    known = pathlib.Path(options.output) if options.output else None
    times = json.loads(known.read_text()) if known and known.exists() else {}
    for task in tasks:
        for seed in options.seeds.split(","):
            for strategy in strategies:
                key = f"{task} {seed} {strategy}"
                if key not in times:
                    times[key] = best_us(options, task, strategy, seed)
                    if known:
                        known.write_text(json.dumps(times, indent=1))
            print(task.stem, seed, *(f"{s} {times[f'{task} {seed} {s}']:.2f} us" for s in strategies), flush=True)
    best = {}
    for key, time in times.items():
        task = key.rsplit(" ", 2)[0]
        best[task] = min(best.get(task, math.inf), time)
    for strategy in strategies:
        ratios = [time / best[key.rsplit(" ", 2)[0]] for key, time in times.items() if key.endswith(" " + strategy)]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        near = sum(ratio <= 1.02 for ratio in ratios)
        print(f"{strategy:10} {mean:.3f} of the best found, within 2 % of it in {near} of {len(ratios)} runs")


if __name__ == "__main__":
    main()
