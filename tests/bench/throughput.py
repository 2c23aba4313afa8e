#!/usr/bin/env python3
"""How many evaluations per second a search reaches on a GPU, and how busy it keeps that GPU.

    tests/bench/throughput.py [--hone build/release/bin/hone] [--budget 60s] [--device cuda:0]
                          [--tasks matmul,softmax] [--compile-processes 0,1] [-o results.json]

Runs `hone optimize --no-prescreen` for each task and each number of compile processes (0: one per
core) with an empty compile cache, and prints a table. "runner" is the share of the search in which
the GPU's runner had a candidate; "kernels" is the GPU's own utilisation as nvidia-smi reports it,
averaged over the search: the share of the time in which a kernel was executing.
"""

import argparse
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Utilisation:
    """Samples the GPU's utilisation [%] five times a second between start() and stop()."""

    def __init__(self, ordinal):
        self.samples = []  # (time, percent)
        self.process = subprocess.Popen(
            ["nvidia-smi", "-i", str(ordinal), "--query-gpu=utilization.gpu",
             "--format=csv,noheader,nounits", "-lms", "200"], stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.samples.append((time.monotonic(), int(line)))

    def stop(self):
        self.process.terminate()
        self.thread.join(timeout=5)

    def mean(self, begin, end):
        inside = [percent for at, percent in self.samples if begin <= at <= end]
        return sum(inside) / len(inside) if inside else None


def one_search(options, task, processes):
    source = ROOT / "baselines" / task / f"{task}.cu"
    with tempfile.TemporaryDirectory() as scratch:
        result = pathlib.Path(scratch) / "result.json"
        command = [options.hone, "optimize", str(source), "--device", options.device, "--budget",
                   options.budget, "--seed", "1", "--no-prescreen", "--compile-processes",
                   str(processes), "--db", f"{scratch}/hone.db", "--json", str(result)]
        ordinal = re.fullmatch(r"cuda:(\d+)", options.device).group(1)
        smi = Utilisation(ordinal)
        marks = {}
        hone = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True,
                                env={**os.environ, "XDG_CACHE_HOME": scratch})
        for line in hone.stderr:
            # Progress lines of the search itself, not of admission or of the finalists.
            if "evaluated" in line:
                marks.setdefault("begin", time.monotonic())
                marks["end"] = time.monotonic()
        if hone.wait() != 0:
            sys.exit(f"{' '.join(command)} ended with {hone.returncode}")
        smi.stop()
        document = json.loads(result.read_text())
        with sqlite3.connect(f"{scratch}/hone.db") as database:
            crashes = [json.loads(text)["detail"] for (text,) in database.execute(
                "SELECT evaluation FROM results WHERE verdict = 'crash'")]
        row = {"task": task, "compile_processes": processes, **document["pace"],
               "counts": document["counts"], "crashes": crashes, "best_speedup": document["best"]["speedup"],
               "kernels_busy": smi.mean(marks["begin"], marks["end"])}
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hone", default=str(ROOT / "build/release/bin/hone"))
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--tasks", default="matmul")
    parser.add_argument("--compile-processes", default="0,1")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    if not re.fullmatch(r"cuda:\d+", options.device):
        parser.error("--device must be cuda:N: a GPU's utilisation is measured")
    rows = []
    print(f"{'task':<12} {'compilers':>9} {'eval/s':>7} {'runner':>7} {'kernels':>8} "
          f"{'propose':>8} {'compile':>8} {'check':>8} {'wait':>8} {'measure':>8}   per evaluation")
    for task in options.tasks.split(","):
        for processes in map(int, options.compile_processes.split(",")):
            row = one_search(options, task, processes)
            rows.append(row)
            evaluated = max(1.0, row["evaluations_per_s"] * row["search_s"])
            each = [f"{1e3 * row[key] / evaluated:>5.0f} ms" for key in
                    ("propose_s", "compile_s", "check_s", "gpu_wait_s", "gpu_s")]
            kernels = "-" if row["kernels_busy"] is None else f"{row['kernels_busy']:.0f} %"
            print(f"{task:<12} {processes or 'cores':>9} {row['evaluations_per_s']:>7.1f} "
                  f"{100 * row['gpu_busy']:>5.0f} % {kernels:>8} {' '.join(each)}", flush=True)
            for detail in row["crashes"]:
                print(f"  crash: {detail}")
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
