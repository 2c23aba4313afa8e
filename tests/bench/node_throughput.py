#!/usr/bin/env python3
"""What one search gets from 1, 2, 4, ... GPUs of this node, without a server.

    tests/bench/node_throughput.py --gpus 1,2,4 --budget 60s --tasks matmul,softmax,conv3x3,attention \\
        --out node_throughput

Runs `hone optimize --device cuda:0,1,...` for each task and number of GPUs and prints a table:

  eval/s    evaluations a second of the search
  busy      share of the search in which each GPU had a candidate
  core s    seconds that hone and its children spent on processors for one evaluation, from the start
            of the command to its end
  best      the best candidate's time and its speedup in the final stage, after the whole budget
  wall      seconds of the whole command

Each run begins with no results and no compile cache. What a GPU reaches at most is measured once,
before. Nothing is downloaded. FOLDER/rows.json has everything that each run said, and FOLDER/table.txt
the table; FOLDER/*.log is what hone wrote. The same command again goes on with the runs that are not
there yet, so it may be interrupted; --again begins anew. A task is a folder's name in baselines/ or a
.cu file.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from fleet_throughput import Processors

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = (f"{'task':<12} {'GPUs':>4} {'eval/s':>8} {'x 1 GPU':>8} {'evaluated':>9} {'core s':>7} {'best':>12} "
          f"{'speedup':>8} {'wall':>7}  busy")


def source_of(task):
    return pathlib.Path(task) if task.endswith(".cu") else ROOT / "baselines" / task / f"{task}.cu"


def optimize(options, source, device, budget, database, log, result, cache):
    """How the command ended, processors' seconds by role, and its wall time."""
    command = [options.hone, "optimize", str(source), "--device", device, "--budget", budget, "--seed",
               str(options.seed), "--db", str(database), "--json", str(result), *options.more]
    processors = Processors()
    begin = time.monotonic()
    with open(log, "w") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT,
                                env={**os.environ, "XDG_CACHE_HOME": str(cache)}).returncode
    wall_s = time.monotonic() - begin
    return status, {role: seconds for role, seconds in processors.stop().items() if role.startswith("hone")}, wall_s


def one(options, task, gpus, known, folder):
    device = ",".join(f"{'cuda:' if i == 0 else ''}{gpu}" for i, gpu in
                      enumerate(range(options.first, options.first + gpus)))
    log = folder / f"{pathlib.Path(task).stem}_{gpus}.log"
    row = {"task": task, "gpus": gpus, "device": device, "budget": options.budget, "seed": options.seed,
           "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        database = scratch / "hone.db"
        if known.exists():
            shutil.copy(known, database)
        status, core_s, wall_s = optimize(options, source_of(task), device, options.budget, database, log,
                                          scratch / "result.json", scratch)
        document = scratch / "result.json"
        result = json.loads(document.read_text() or "{}") if document.exists() else {}
        row |= {"status": status, "core_s": sum(core_s.values()), "core_s_by_role": core_s, "wall_s": wall_s, "result": result}
    return row


def line(row, rows):
    result = row["result"]
    if row["status"] != 0 or "pace" not in result:
        why = result.get("error", {}).get("message", "see its log") if isinstance(result.get("error"), dict) \
            else result.get("error", "see its log")
        return f"{pathlib.Path(row['task']).stem:<12} {row['gpus']:>4} ended with {row['status']}: {why}"
    pace, best = result["pace"], result["best"]
    alone = [r["result"]["pace"]["evaluations_per_s"] for r in rows
             if r["task"] == row["task"] and r["gpus"] == 1 and r["status"] == 0 and "pace" in r["result"]]
    ratio = f"{pace['evaluations_per_s'] / alone[0]:.2f}" if alone and alone[0] > 0 else "-"
    busy = " ".join(f"{100 * gpu['busy']:.0f}%" if not gpu["lost"] else "failed" for gpu in pace["gpus"])
    return (f"{pathlib.Path(row['task']).stem:<12} {row['gpus']:>4} {pace['evaluations_per_s']:>8.1f} {ratio:>8} "
            f"{pace['evaluated']:>9} {row['core_s'] / max(1, pace['evaluated']):>7.2f} "
            f"{best['time_us']:>9.2f} us {best['speedup']:>7.2f}x {row['wall_s']:>5.0f} s  {busy}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build/release/bin/hone"))
    parser.add_argument("--gpus", default="1,2,4", help="how many, of each run")
    parser.add_argument("--first", type=int, default=0, help="the first GPU's number")
    parser.add_argument("--tasks", default="matmul,softmax,conv3x3,attention")
    parser.add_argument("--budget", default="60s", help="of each run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="node_throughput", help="a folder")
    parser.add_argument("--again", action="store_true", help="make runs again that are there")
    parser.add_argument("more", nargs="*", help="behind --: more arguments for hone optimize")
    options = parser.parse_args()
    folder = pathlib.Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "rows.json"
    rows = json.loads(file.read_text()) if file.exists() and not options.again else []
    counts = [int(gpus) for gpus in options.gpus.split(",")]
    known = folder / "ceilings.db"
    if options.again or not known.exists():
        known.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as scratch:  # a task that is none of the table's
            status, _, seconds = optimize(options, source_of("matvec"), f"cuda:{options.first}", "1", known,
                                          folder / "ceilings.log", pathlib.Path(scratch) / "result.json", scratch)
        print(f"what the GPU reaches was measured in {seconds:.0f} s" if status == 0 else
              f"measuring what the GPU reaches ended with {status}: see {folder / 'ceilings.log'}", flush=True)
    print(f"{os.cpu_count()} cores, {options.budget} for each run\n{HEADER}", flush=True)
    for task in options.tasks.split(","):
        for gpus in counts:
            key = (task, gpus, options.budget, options.seed)
            row = next((r for r in rows if (r["task"], r["gpus"], r["budget"], r["seed"]) == key
                        and r["status"] == 0), None)
            if row is None:
                row = one(options, task, gpus, known, folder)
                rows = [r for r in rows if (r["task"], r["gpus"], r["budget"], r["seed"]) != key] + [row]
                file.write_text(json.dumps(rows, indent=1) + "\n")
            print(line(row, rows), flush=True)
    (folder / "table.txt").write_text("\n".join([HEADER, *(line(row, rows) for row in rows)]) + "\n")
    sys.exit(0 if all(row["status"] == 0 for row in rows) else 1)


if __name__ == "__main__":
    main()
