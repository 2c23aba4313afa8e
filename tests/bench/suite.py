#!/usr/bin/env python3
"""Many tasks on the GPUs of this node: a search on each GPU, side by side, without a server.

    tests/bench/suite.py --gpus 4 --budget 15s --out suite_4 TASK.cu ... FOLDER ...

Each search has one GPU and an equal share of the processors, and its GPU gets the next task when it
ends. Prints a line for each task, and at the end the wall time of all.

  wall      seconds of the whole command
  outside   the part of it before the search began and after it ended
  best      the best candidate's time in the final stage, and its speedup over the reference

OUT/NAME.json and OUT/NAME.log have what hone wrote for a task, OUT/rows.json all lines. The same
command again goes on with the tasks that have no result yet; with `--until S` no search begins that
would not end within S seconds. A search begins with an empty compile cache and a database that has
only what the GPU reaches at most, which is measured once, before; what is known is not used.
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


def seconds(text):
    if not text.endswith("s") or not text[:-1].replace(".", "", 1).isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not in seconds, such as 15s")
    return text


def tasks_in(arguments):
    found = []
    for argument in map(pathlib.Path, arguments):
        found += sorted(argument.glob("*.cu")) if argument.is_dir() else [argument]
    missing = [str(task) for task in found if not task.is_file()]
    if missing or not found:
        sys.exit(f"error: no such task: {', '.join(missing)}" if missing else "error: no .cu file there")
    names = [task.stem for task in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        sys.exit(f"error: several tasks have the name {', '.join(twice)}: their results would be one file")
    return found


def optimize(options, task, device, budget, database, log, result, cores):
    """Runs one search; its exit status."""
    with tempfile.TemporaryDirectory() as cache, open(log, "w") as out:
        return subprocess.run(
            ["taskset", "-c", ",".join(map(str, cores)), options.hone, "optimize", str(task), "--device", device,
             "--budget", budget, "--db", str(database), "--no-known", "--quiet", "--json", str(result), *options.more],
            stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "XDG_CACHE_HOME": cache}).returncode


def row_of(options, task, gpu, known):
    out = pathlib.Path(options.out)
    result = out / f"{task.stem}.json"
    result.unlink(missing_ok=True)
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // options.gpus)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        database = pathlib.Path(scratch) / "hone.db"
        shutil.copy(known, database)
        status = optimize(options, task, f"cuda:{gpu}", options.budget, database, out / f"{task.stem}.log", result,
                          cores[gpu * share:(gpu + 1) * share] or cores)
    row = {"task": task.stem, "gpu": gpu, "budget": options.budget, "status": status,
           "wall_s": time.monotonic() - begin}
    if status == 0:
        try:
            document = json.loads(result.read_text())
            row |= {"time_us": document["best"]["time_us"], "speedup": document["best"]["speedup"],
                    "search_s": document["pace"]["search_s"], "evaluated": document["pace"]["evaluated"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            row["status"] = f"no result that can be read ({error})"
    return row


def line(row):
    head = f"{row['task'][:44]:44} cuda:{row['gpu']} {row['wall_s']:6.1f} s"
    if row["status"] != 0:
        return f"{head}  ended with {row['status']}: see its log"
    return (f"{head} {row['wall_s'] - row['search_s']:6.1f} s outside {row['evaluated']:6} evaluated  "
            f"best {row['time_us']:10.2f} us {row['speedup']:8.2f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build/release/bin/hone"))
    parser.add_argument("--gpus", type=int, default=1, help="how many run at a time, from cuda:0 on")
    parser.add_argument("--budget", type=seconds, default="15s", help="of each search")
    parser.add_argument("--until", type=float, default=float("inf"), help="seconds from the start of this command")
    parser.add_argument("--out", required=True, help="a folder")
    parser.add_argument("--option", dest="more", action="append", default=[], help="one more for hone optimize")
    parser.add_argument("tasks", nargs="+", help=".cu files, or folders of them")
    options = parser.parse_args()
    begin = time.monotonic()
    tasks = tasks_in(options.tasks)
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    known = out / "ceilings.db"
    if not known.exists():
        new = out / "ceilings_new.db"
        new.unlink(missing_ok=True)
        status = optimize(options, ROOT / "baselines/matvec/matvec.cu", "cuda:0", "1", new, out / "ceilings.log",
                          out / "ceilings.json", sorted(os.sched_getaffinity(0)))
        if status != 0:
            sys.exit(f"error: measuring what the GPU reaches ended with {status}: see {out / 'ceilings.log'}")
        new.rename(known)
    file = out / "rows.json"
    rows = json.loads(file.read_text()) if file.exists() else []
    names = {task.stem for task in tasks}

    def done():
        return {row["task"] for row in rows if row["status"] == 0 and row["budget"] == options.budget} & names

    waiting = queue.Queue()
    for task in tasks:
        if task.stem not in done():
            waiting.put(task)
    searching = time.monotonic()
    writing = threading.Lock()

    def work(gpu):
        while time.monotonic() - begin + float(options.budget[:-1]) + OVERHEAD_S <= options.until:
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                return
            row = row_of(options, task, gpu, known)
            with writing:
                rows[:] = [r for r in rows if (r["task"], r["budget"]) != (row["task"], row["budget"])] + [row]
                file.write_text(json.dumps(rows, indent=1) + "\n")
                print(line(row), flush=True)

    workers = [threading.Thread(target=work, args=(gpu,)) for gpu in range(options.gpus)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    missing = names - done()
    print(f"{len(names) - len(missing)} of {len(names)} tasks have a result; the searches of this command took "
          f"{time.monotonic() - searching:.0f} s on {options.gpus} GPUs")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
