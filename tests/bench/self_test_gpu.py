#!/usr/bin/env python3
"""Is the timer honest? On a GPU: every baseline as its own candidate (A/A), and found candidates
verified in a second run.

    tests/bench/self_test_gpu.py --hone build/release/bin/hone --runs 6 --candidates 8 -o results.json

A/A: the reference is submitted as a variant; its ratio should be 1. Repeatability: searches, then
`hone verify` of what they found: the two final times should agree.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time


def hone(binary, *arguments):
    run = subprocess.run([binary, *arguments, "--json", "-"], capture_output=True, text=True)
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        return {"error": run.stderr.strip().splitlines()[-1:] or run.returncode}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default="build/release/bin/hone")
    parser.add_argument("--baselines", default="baselines")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--runs", type=int, default=6, help="A/A runs per task")
    parser.add_argument("--candidates", type=int, default=32, help="to be verified, over all tasks")
    parser.add_argument("--budget", default="15s", help="of each search")
    parser.add_argument("--search", default="matmul,softmax,transpose,column_sum,row_sum,gelu")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no A/A run after this long")
    parser.add_argument("-o", "--output", default="")
    options = parser.parse_args()
    begin = time.time()
    root = pathlib.Path(options.baselines)
    tasks = sorted(p for p in root.glob("*/*.cu") if p.stem == p.parent.name)
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        database = str(pathlib.Path(folder) / "hone.db")
        pairs = []
        for name in [n for n in options.search.split(",") if n]:
            found = hone(options.hone, "optimize", str(root / name / f"{name}.cu"), "--device", options.device,
                         "--budget", options.budget, "--finalists", "8", "--db", database)
            if len(found.get("finalists", [])) < 2:
                print(f"{name}: nothing faster was found: {found.get('error', found.get('counts'))}")
            for row in found.get("finalists", []):
                if len(pairs) >= options.candidates or row.get("origin") == "reference":
                    continue
                again = hone(options.hone, "verify", row["candidate"], "--device", options.device, "--db", database)
                if again.get("time_us"):
                    pairs.append({"task": name, "first_us": row["time_us"], "second_us": again["time_us"],
                                  "stands": again["stands"]})
                else:
                    print(f"{name} {row['candidate']}: {again}")
        for number in range(options.runs):
            for task in tasks:
                if time.time() - begin > options.seconds:
                    break
                result = hone(options.hone, "evaluate", str(task), str(task), "--device", options.device, "--db", database)
                if result.get("verdict") != "ok":
                    print(f"{task.stem}: {result.get('verdict')} {result.get('detail', result)}")
                    continue
                runs.append({"task": task.stem, "ratio": result["speedup"], "low": result["ci95"][0],
                             "high": result["ci95"][1], "time_us": result["time_us"]})
    if runs:
        off = [abs(r["ratio"] - 1) for r in runs]
        holds = sum(r["low"] <= 1 <= r["high"] for r in runs)
        print(f"A/A: {len(runs)} runs of {len({r['task'] for r in runs})} tasks; the interval holds 1 in {holds} "
              f"({100 * holds / len(runs):.0f} %); |ratio - 1| median {100 * statistics.median(off):.3f} %, "
              f"largest {100 * max(off):.2f} %; gains over 2 %: {sum(r['ratio'] > 1.02 for r in runs)}")
        for task in sorted({r["task"] for r in runs}):
            mine = [r for r in runs if r["task"] == task]
            print(f"  {task:20} {min(r['time_us'] for r in mine):10.2f} us  ratios "
                  + " ".join(f"{r['ratio']:.4f}{'' if r['low'] <= 1 <= r['high'] else '!'}" for r in mine))
    if pairs:
        off = [abs(p["second_us"] / p["first_us"] - 1) for p in pairs]
        print(f"repeatability: {len(pairs)} candidates; final times differ by {100 * statistics.median(off):.2f} % "
              f"(median), {100 * max(off):.2f} % at most; {sum(p['stands'] for p in pairs)} claims stand")
        for pair in pairs:
            print(f"  {pair['task']:20} {pair['first_us']:10.2f} {pair['second_us']:10.2f} us")
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps({"aa": runs, "repeatability": pairs}, indent=1))


if __name__ == "__main__":
    main()
