#!/usr/bin/env python3
"""How many evaluations a second one search gets from one GPU of a node and from all of them, by the
service: a Redis server, a coordinator and a worker, all on this machine.

    tests/bench/fleet_throughput.py --hone build/release/bin/hone --redis redis-server \
        --devices cuda:0 cuda:all --tasks matmul,softmax --budget 60s -o results.json

Prints, for each task and set of devices, evaluations/s of the search, the seconds for which GPUs had
a candidate, the best speedup of the final stage, and the processors' seconds of the whole row by what
spent them. Each row starts with no database and no compile cache.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time


class Processors:
    """Seconds on processors of every process that is begun while this watches, by its role."""

    def __init__(self):
        self.seconds = {}
        self.ended = threading.Event()
        self.before = set(self.processes())
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    @staticmethod
    def processes():
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]

    @staticmethod
    def role(command):
        """"hone worker", "hone-runner compile", ..."""
        words = command.split("\0")
        return " ".join([os.path.basename(words[0]), *words[1:2]]) if words[0] else "other"

    def look(self):
        for process in self.processes():
            if process in self.before:
                continue
            try:
                stat = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                command = pathlib.Path(f"/proc/{process}/cmdline").read_text()
            except OSError:
                continue
            seconds = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
            self.seconds[process, self.role(command)] = seconds

    def watch(self):
        while not self.ended.wait(0.5):
            self.look()

    def stop(self):
        self.ended.set()
        self.thread.join()
        roles = {}
        for (_, role), seconds in self.seconds.items():
            roles[role] = roles.get(role, 0) + seconds
        return {role: round(seconds, 1) for role, seconds in
                sorted(roles.items(), key=lambda item: -item[1]) if seconds >= 1}


def wait_for(what, condition, seconds=120):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            sys.exit(f"{what}: not within {seconds} s")
        time.sleep(0.1)


def one(options, task, device, folder):
    """A fleet, one job, and what became of it."""
    socket = folder / "redis.sock"
    url = f"unix://{socket}"
    environment = dict(os.environ, HOME=str(folder), XDG_CACHE_HOME=str(folder / "cache"),
                       XDG_DATA_HOME=str(folder / "data"))
    database = str(folder / "hone.db")
    logs = {name: open(folder / f"{name}.log", "w") for name in ("redis", "coordinator", "worker")}
    started = []
    processors = Processors()

    def start(name, *command):
        started.append(subprocess.Popen(command, stdout=logs[name], stderr=logs[name], env=environment))

    def hone(*arguments):
        run = subprocess.run([options.hone, *arguments, "--json", "-"], capture_output=True, text=True,
                             env=environment)
        try:
            return json.loads(run.stdout)
        except json.JSONDecodeError:
            return {"error": run.stderr.strip()}

    try:
        start("redis", options.redis, "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir",
              str(folder))
        wait_for("redis", socket.exists)
        start("coordinator", options.hone, "coordinator", "--redis", url, "--db", database)
        start("worker", options.hone, "worker", "--redis", url, "--device", device, *options.worker)
        for beside in options.beside:
            start("worker", options.hone, "worker", "--redis", url, "--device", beside)
        wait_for("worker", lambda: len(hone("workers", "--redis", url).get("workers", []))
                 > len(options.beside))
        begun = time.time()
        source = pathlib.Path(options.baselines) / task / f"{task}.cu"
        job = hone("submit", str(source), "--redis", url, "--budget", options.budget, "--seed",
                   str(options.seed), "--finalists", "8", "--wait",
                   *(["--arch", device] if device.startswith("emu:") else []))
        row = {"task": task, "device": device, "job": job, "wall_s": time.time() - begun}
    finally:
        processor_s = processors.stop()
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
    log = (folder / "coordinator.log").read_text()
    pace = re.search(r"(\d+) evaluations in ([\d.]+) s, ([\d.]+)/s, a GPU busy for (\d+) s; "
                     r"proposing took ([\d.]+) s", log)
    if not pace:
        print(f"{task} {device}: {job}\n{log[-2000:]}\n{(folder / 'worker.log').read_text()[-2000:]}")
        return row
    arch = job["archs"][0]
    row |= {"evaluations": int(pace[1]), "search_s": float(pace[2]), "per_s": float(pace[3]),
            "gpu_s": float(pace[4]), "propose_s": float(pace[5]), "best_us": arch["best_time_us"],
            "processor_s": processor_s,
            "speedup": arch["reference_time_us"] / arch["best_time_us"]}
    print(f"{task:12} {device:16} {row['evaluations']:6} in {row['search_s']:6.1f} s "
          f"{row['per_s']:7.1f}/s  GPU busy {row['gpu_s']:5.0f} s  proposing {row['propose_s']:5.1f} s  "
          f"best {row['best_us']:9.2f} us, {row['speedup']:.3f}x\n{'':13}processors: "
          + ", ".join(f"{role} {seconds:.0f} s" for role, seconds in processor_s.items()), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="build/release/bin/hone")
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--baselines", default="baselines")
    parser.add_argument("--devices", nargs="+", default=["cuda:0", "cuda:all"])
    parser.add_argument("--tasks", default="matmul,softmax")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worker", nargs="*", default=[], help="more arguments for the worker")
    parser.add_argument("--beside", nargs="*", default=[], help="devices of further workers: emu:sm_90")
    parser.add_argument("-o", "--output", default="")
    options = parser.parse_args()
    options.hone = str(pathlib.Path(options.hone).resolve())
    rows = []
    for task in options.tasks.split(","):
        for device in options.devices:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(one(options, task, device, pathlib.Path(folder)))
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
