#!/usr/bin/env python3
"""Optimizes the baselines one after another and prints a table with the geometric mean.

Usage: scripts/bench_baselines.py [--hone BIN] [--device D] [--budget 120s] [--seed 1] [--out DIR]
       [--db FILE] [NAME ...]
Each result is kept as DIR/NAME.json; `--table` only prints the table of what DIR holds.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIPELINES = ("attention", "variance")  # not among the sixteen of the geometric mean


def time_text(us):
    return f"{us / 1000:.3f} ms" if us >= 1000 else f"{us:.1f} us"


def table(results):
    lines = ["| task | reference | best | speedup | 95 % interval | of the roof | max error | evaluated | recipe |",
             "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |"]
    logs = []
    for name, r in results:
        best = r["best"]
        counts = r["counts"]
        evaluated = counts["proposed"] - counts["duplicate"] - counts["refused"]
        recipe = " > ".join(step["rewriter"] for step in best["recipe"]) or "(reference)"
        lines.append(f"| {name} | {time_text(best['reference_time_us'])} | {time_text(best['time_us'])} "
                     f"| {best['speedup']:.2f} | {best['ci95'][0]:.2f} - {best['ci95'][1]:.2f} "
                     f"| {100 * best['roof_fraction']:.0f} % | {best['max_rel_error']:.1e} | {evaluated} | {recipe} |")
        if name not in PIPELINES:
            logs.append(math.log(best["speedup"]))
    if logs:
        lines.append("")
        lines.append(f"Geometric mean over {len(logs)} single-launch tasks: {math.exp(sum(logs) / len(logs)):.2f}; "
                     f"lowest {math.exp(min(logs)):.2f}.")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--hone", default=str(ROOT / "build/release/bin/hone"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--budget", default="120s")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--out", default=str(ROOT / "build/bench"))
    parser.add_argument("--db", default="")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    names = arguments.names or sorted(p.name for p in (ROOT / "baselines").iterdir() if p.is_dir())
    failed = False
    if not arguments.table:
        for name in names:
            file = out / f"{name}.json"
            command = [arguments.hone, "optimize", str(ROOT / "baselines" / name / f"{name}.cu"), "--device",
                       arguments.device, "--budget", arguments.budget, "--seed", arguments.seed, "--db",
                       arguments.db or str(out / "bench.db"), "--json", str(file), "--quiet"]
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            failed |= run.returncode != 0
            print(f"== {name} (status {run.returncode})\n{run.stdout}", flush=True)
    results = []
    for name in names:
        file = out / f"{name}.json"
        if file.exists():
            document = json.loads(file.read_text())
            if "best" in document:
                results.append((name, document))
    print(table(results))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
