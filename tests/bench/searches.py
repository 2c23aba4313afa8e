"""Searches of hone on the GPUs of this node, one on each at a time: what the scripts beside this file share.

A search has an equal share of the processors and begins with what a machine has after its first command, which is another
task's: the compiled kernels of hone's own, and a database that knows what the GPU reaches at most. What is known is not used.
Results lie in a folder, so that the same command again goes on with what is missing.
"""
import argparse
import json
import os
import pathlib
import queue
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OVERHEAD_S = 6  # of a command beside its budget
FIRST_TASK = """/* hone
{ "name": "first_command", "sizes": {"N": 1048576},
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "twice", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}] } */
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
"""


def seconds(text):
    """"15s" as it is; an error for anything else."""
    if not text.endswith("s") or not text[:-1].replace(".", "", 1).isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not in seconds, such as 15s")
    return text


def add_options(parser):
    parser.add_argument("--hone", default=str(ROOT / "build/release/bin/hone"))
    parser.add_argument("--gpus", type=int, default=1, help="how many run at a time, from cuda:0 on")
    parser.add_argument("--until", type=float, default=float("inf"), help="seconds from the start of this command")
    parser.add_argument("--out", required=True, help="a folder")


def tasks_in(arguments, out):
    """The .cu files among `arguments`, and the tasks in the folders among them but for `out`; ends the program where there
    are none."""
    found = []
    for argument in map(pathlib.Path, arguments):
        if not argument.is_dir():
            found.append(argument)
            continue
        found += [task for task in sorted(argument.rglob("*.cu"))
                  if not task.resolve().is_relative_to(pathlib.Path(out).resolve())
                  and "/* hone" in task.read_text(errors="replace")]
    missing = [str(task) for task in found if not task.is_file()]
    if missing or not found:
        sys.exit(f"error: no such task: {', '.join(missing)}" if missing else "error: no .cu file there")
    names = [task.stem for task in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        sys.exit(f"error: several tasks have the name {', '.join(twice)}: their results would be one file")
    return found


def drawn(options):
    """`options.shapes` tasks of `options.folders`, as many from each, drawn with the seed `options.draw`; none has the name
    of another."""
    chance = random.Random(options.draw)
    files = {}
    for index, folder in enumerate(options.folders):
        share = options.shapes // len(options.folders) + (index < options.shapes % len(options.folders))
        others = [task for task in tasks_in([folder], options.out) if task.stem not in files]
        files |= {task.stem: task for task in sorted(chance.sample(others, min(share, len(others))))}
    return list(files.values())


def enlarged(text):
    """The task's text with its largest size a tenth larger, as a multiple of what that size is a multiple of, up to 16."""
    found = re.search(r'"sizes":\s*(\{[^}]*\})', text)
    sizes = json.loads(found.group(1))
    name = max(sizes, key=sizes.get)
    step = next(step for step in (16, 8, 4, 2, 1) if sizes[name] % step == 0)
    sizes[name] = max(sizes[name] + step, round(1.1 * sizes[name] / step) * step)
    return text[:found.start(1)] + json.dumps(sizes) + text[found.end(1):]


class Node:
    """The GPUs of this node, and the folder of results. With `emulated`, a name such as emu:sm_90, that device instead."""

    def __init__(self, options, emulated=None):
        self.hone, self.gpus, self.out = options.hone, options.gpus, pathlib.Path(options.out)
        self.emulated = emulated
        self.end = time.monotonic() + options.until
        self.out.mkdir(parents=True, exist_ok=True)
        self.before = self.out / "before"
        if not self.before.exists():
            new = self.out / "before_new"
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            task = new / "first_command.cu"
            task.write_text(FIRST_TASK)
            status = self._run(task, 0, "1", "first_command", new, sorted(os.sched_getaffinity(0)))
            if status != 0:
                sys.exit(f"error: the first command ended with {status}: see {self.out / 'first_command.log'}")
            new.rename(self.before)

    def _run(self, task, gpu, budget, name, home, cores, *more):
        """`home` has the database and the compile cache."""
        result = self.out / f"{name}.json"
        result.unlink(missing_ok=True)
        with open(self.out / f"{name}.log", "w") as log:
            return subprocess.run(
                ["taskset", "-c", ",".join(map(str, cores)), self.hone, "optimize", str(task), "--device",
                 self.emulated or f"cuda:{gpu}", "--budget", budget, "--db", str(home / "hone.db"), "--no-known", "--quiet",
                 "--json", str(result), *more],
                stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "XDG_CACHE_HOME": str(home.resolve())}).returncode

    def search(self, task, gpu, budget, name, *more, keep=None):
        """One search. Its row: status (0, or what went wrong), wall seconds, and what OUT/NAME.json says of the best, which
        is the reference where nothing faster was found. keep: a file for its database, which is removed otherwise."""
        cores = sorted(os.sched_getaffinity(0))
        share = max(1, len(cores) // self.gpus)
        with tempfile.TemporaryDirectory() as scratch:
            home = pathlib.Path(scratch) / "home"
            shutil.copytree(self.before, home)
            begin = time.monotonic()
            status = self._run(task, gpu, budget, name, home, cores[gpu * share:(gpu + 1) * share] or cores, *more)
            wall_s = time.monotonic() - begin
            if keep is not None:
                with sqlite3.connect(home / "hone.db") as database, sqlite3.connect(keep) as copy:
                    database.backup(copy)
        row = {"task": pathlib.Path(task).stem, "gpu": gpu, "budget": budget, "status": status, "wall_s": wall_s}
        if status == 0:
            try:
                document = json.loads((self.out / f"{name}.json").read_text())
                best = document.get("best") or {"time_us": document["reference"]["time_us"], "speedup": 1.0}
                row |= {"time_us": best["time_us"], "speedup": best["speedup"], "search_s": document["pace"]["search_s"],
                        "evaluated": document["pace"]["evaluated"]}
            except (OSError, ValueError, KeyError, TypeError) as error:
                row["status"] = f"no result that can be read ({error})"
        return row

    def each(self, jobs, job_s, work, tell):
        """`work(job, gpu)` for each of `jobs`, one at a time on each GPU; no job begins that would not end in time, where it
        takes `job_s` seconds. `tell(what work returned)` is called by one thread at a time."""
        waiting = queue.Queue()
        for job in jobs:
            waiting.put(job)
        telling = threading.Lock()

        def worker(gpu):
            while time.monotonic() + job_s <= self.end:
                try:
                    job = waiting.get_nowait()
                except queue.Empty:
                    return
                done = work(job, gpu)
                with telling:
                    tell(done)

        threads = [threading.Thread(target=worker, args=(gpu,)) for gpu in range(self.gpus)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Rows:
    """Rows of a table in OUT/rows.json, one for each key."""

    def __init__(self, node):
        self.file = node.out / "rows.json"
        self.rows = json.loads(self.file.read_text()) if self.file.exists() else []

    def add(self, row, *key):
        """In place of one with the same values under `key`."""
        self.rows = [other for other in self.rows if any(other.get(k) != row[k] for k in key)] + [row]
        self.file.write_text(json.dumps(self.rows, indent=1) + "\n")
