#!/usr/bin/env python3
"""Many tasks on the GPUs of this node: a search on each GPU, side by side, without a server.

    tests/bench/suite.py --gpus 4 --budget 15s --out suite_4 TASK.cu ... FOLDER ...

Each search has one GPU and an equal share of the processors, as many of them as GPUs run at a time,
and takes the next task as it ends. Prints a line for each task and at the end the wall time of all.

  best      the best candidate's time in the final stage, and how often it fits into the reference's
  wall      seconds of the whole command
  outside   of them, seconds before the search began and after it ended

OUT/NAME.json and OUT/NAME.log have what hone wrote for a task, OUT/rows.json all lines. The same command again
goes on with the tasks that have no line yet; `--until S` begins nothing that would not end within
S seconds. Known results are not used: each search begins with an empty database. What the GPU reaches
at most is measured once, before.
"""
import argparse
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OVERHEAD_S = 6  # of a command beside its budget


def tasks_in(arguments):
    found = []
    for argument in map(pathlib.Path, arguments):
        found += sorted(argument.glob("*.cu")) if argument.is_dir() else [argument]
    missing = [str(task) for task in found if not task.is_file()]
    if missing or not found:
        sys.exit(f"error: no such task: {', '.join(missing)}" if missing else "error: no .cu file there")
    return found


def optimize(options, task, gpu, known):
    """Runs one search; its row."""
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // options.gpus)
    mine = cores[gpu * share:(gpu + 1) * share] or cores
    out = pathlib.Path(options.out)
    result = out / f"{task.stem}.json"
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, open(out / f"{task.stem}.log", "w") as log:
        database = pathlib.Path(scratch) / "hone.db"
        if known.exists():
            shutil.copy(known, database)
        status = subprocess.run(
            [options.hone, "optimize", str(task), "--device", f"cuda:{gpu}", "--budget", options.budget, "--db",
             str(database), "--quiet", "--json", str(result), *options.more],
            stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "XDG_CACHE_HOME": scratch},
            preexec_fn=lambda: os.sched_setaffinity(0, mine)).returncode
    row = {"task": task.stem, "gpu": gpu, "budget": options.budget, "status": status,
           "wall_s": time.monotonic() - begin}
    if status == 0:
        document = json.loads(result.read_text())
        row |= {"time_us": document["best"]["time_us"], "speedup": document["best"]["speedup"],
                "search_s": document["pace"]["search_s"], "evaluated": document["pace"]["evaluated"]}
    return row


def line(row):
    head = f"{row['task'][:44]:44} cuda:{row['gpu']} {row['wall_s']:6.1f} s"
    if row["status"] != 0:
        return f"{head}  ended with {row['status']}: see its log"
    outside_s = row["wall_s"] - row["search_s"]
    return f"{head} {outside_s:6.1f} s outside {row['evaluated']:6} evaluated  best {row['time_us']:10.2f} us {row['speedup']:8.2f}x"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build/release/bin/hone"))
    parser.add_argument("--gpus", type=int, default=1, help="how many run at a time, from cuda:0 on")
    parser.add_argument("--budget", default="15s", help="of each search")
    parser.add_argument("--until", type=float, default=float("inf"), help="seconds from the start of this command")
    parser.add_argument("--out", required=True, help="a folder")
    parser.add_argument("--option", dest="more", action="append", default=[], help="one more argument for hone optimize")
    parser.add_argument("tasks", nargs="+", help=".cu files, or folders of them")
    options = parser.parse_args()
    begin = time.monotonic()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    file = out / "rows.json"
    rows = json.loads(file.read_text()) if file.exists() else []
    done = {row["task"] for row in rows if row["status"] == 0 and row["budget"] == options.budget}
    waiting = queue.Queue()
    for task in tasks_in(options.tasks):
        if task.stem not in done:
            waiting.put(task)
    known = out / "ceilings.db"
    if not known.exists():
        subprocess.run([options.hone, "optimize", str(ROOT / "baselines/matvec/matvec.cu"), "--device", "cuda:0", "--budget",
                        "1", "--quiet", "--db", str(known)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    budget_s = float(options.budget.rstrip("s"))
    searching = time.monotonic()
    writing = threading.Lock()
    left = []

    def work(gpu):
        while True:
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                return
            if time.monotonic() - begin + budget_s + OVERHEAD_S > options.until:
                left.append(task.stem)
                continue
            row = optimize(options, task, gpu, known)
            with writing:
                rows[:] = [r for r in rows if (r["task"], r["budget"]) != (row["task"], row["budget"])] + [row]
                file.write_text(json.dumps(rows, indent=1) + "\n")
                print(line(row), flush=True)

    workers = [threading.Thread(target=work, args=(gpu,)) for gpu in range(options.gpus)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    failed = [row["task"] for row in rows if row["status"] != 0]
    print(f"{len(rows)} tasks have a line, {len(failed)} of them failed, {len(left)} are left; the searches of this command "
          f"took {time.monotonic() - searching:.0f} s on {options.gpus} GPUs")
    sys.exit(1 if failed or left else 0)


if __name__ == "__main__":
    main()
