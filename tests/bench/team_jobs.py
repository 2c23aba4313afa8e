#!/usr/bin/env python3
"""A team's jobs on one service, all on this machine: a Redis server, a coordinator, emulated workers.

    tests/bench/team_jobs.py line --jobs 200 --owners 5 --workers 8 -o line.json
    tests/bench/team_jobs.py lists --jobs 10000 -o lists.json

`line`: jobs of several owners, 4 in 7 of priority 0, 2 in 7 of priority 2 and 1 in 7 of priority 5, in a
random order, submitted one after another as fast as `hone submit` goes. Prints, by priority, for how
long they stood in line (until a search was begun for them) and how long they took in all, by the
server's clock; states are read every half second.

`lists`: one job is run, and its records are copied until there are as many ended jobs as asked for.
Prints how long `hone jobs` takes as a whole command, from its start to its end.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from fleet_throughput import wait_for

OWNERS = ["ada", "bob", "cleo", "dan", "eve", "finn", "gil", "hana"]
PRIORITIES = [0, 0, 0, 0, 2, 2, 5]


class Redis:
    """As much of the protocol as copying takes."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")

    def send(self, *commands):
        out = b""
        for command in commands:
            words = [w if isinstance(w, bytes) else str(w).encode() for w in command]
            out += b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        self.socket.sendall(out)
        return [self.read() for _ in commands]

    def read(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            if rest == b"-1":
                return None
            value = self.file.read(int(rest))
            self.file.read(2)
            return value
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if kind == b"-":
            sys.exit(f"redis: {rest.decode()}")
        return int(rest) if kind == b":" else rest


class Service:
    """Its processes end with it."""

    def __init__(self, options, folder, workers, at_once):
        self.options, self.folder = options, folder
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self.environment = dict(os.environ, HOME=str(folder), XDG_CACHE_HOME=str(folder / "cache"),
                                XDG_DATA_HOME=str(folder / "data"), HONE_REDIS=self.url)
        self.started, self.logs = [], []
        self.start("redis", options.redis, "--port", "0", "--unixsocket", str(self.socket), "--save",
                   "", "--dir", str(folder))
        wait_for("redis", self.socket.exists)
        self.start("coordinator", options.hone, "coordinator", "--db", str(folder / "hone.db"), "--jobs",
                   str(options.at_once))
        for number in range(workers):
            self.start(f"worker{number}", options.hone, "worker", "--device", "emu:sm_90", "--at-once",
                       str(at_once), "--name", f"w{number}")
        wait_for("workers", lambda: len(self.hone("workers")["workers"]) == workers)

    def start(self, name, *command):
        log = open(self.folder / f"{name}.log", "w")
        self.logs.append(log)
        self.started.append(subprocess.Popen(command, stdout=log, stderr=log, env=self.environment))

    def command(self, *arguments):
        return subprocess.run([self.options.hone, *arguments], capture_output=True, text=True,
                              env=self.environment)

    def hone(self, *arguments):
        run = self.command(*arguments, "--json", "-")
        if run.returncode != 0:
            sys.exit(f"hone {' '.join(arguments)}: {run.stderr}")
        return json.loads(run.stdout)

    def stop(self):
        for process in reversed(self.started):
            process.send_signal(signal.SIGTERM)
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        for log in self.logs:
            log.close()


def spread(seconds):
    seconds = sorted(seconds)
    return {"jobs": len(seconds), "median_s": round(statistics.median(seconds), 1),
            "p90_s": round(seconds[int(0.9 * (len(seconds) - 1))], 1), "most_s": round(seconds[-1], 1)}


def line(options, service):
    rng = random.Random(options.seed)
    jobs = [(OWNERS[i % options.owners], PRIORITIES[i % len(PRIORITIES)]) for i in range(options.jobs)]
    rng.shuffle(jobs)
    redis = Redis(service.socket)
    begun, ended, last = {}, {}, {}
    stopping = threading.Event()

    def now():
        seconds, micros = redis.send(["TIME"])[0]
        return 1000 * int(seconds) + int(micros) // 1000

    def watch():
        while not stopping.is_set():
            at = now()
            for job in service.hone("jobs", "--limit", str(options.jobs))["jobs"]:
                last[job["job"]] = job
                if job["state"] != "queued":
                    begun.setdefault(job["job"], at)
                if job["state"] in ("done", "failed", "cancelled"):
                    ended.setdefault(job["job"], at)
            stopping.wait(0.5)

    watching = threading.Thread(target=watch)
    watching.start()
    first = time.time()
    for owner, priority in jobs:
        service.hone("submit", options.task, "--arch", "emu:sm_90", "--budget", options.budget, "--no-known",
                     "--finalists", "1", "--owner", owner, "--priority", str(priority), "--seed",
                     str(rng.randrange(1 << 30)))
    submitted_s = time.time() - first
    wait_for("the jobs' ends", lambda: len(ended) == options.jobs or not watching.is_alive(), options.patience)
    all_s = time.time() - first
    stopping.set()
    watching.join()
    states = collections.Counter(job["state"] for job in last.values())
    result = {"jobs": options.jobs, "owners": options.owners, "workers": options.workers,
              "jobs_at_once": options.at_once, "budget": options.budget, "cores": os.cpu_count(),
              "submitted_s": round(submitted_s, 1), "all_s": round(all_s, 1), "states": dict(states),
              "in_line": {}, "in_all": {}, "by_owner": {}}
    print(f"{options.jobs} jobs of {options.owners} owners, {options.workers} workers, {os.cpu_count()} cores; "
          f"submitted within {submitted_s:.0f} s, all ended after {all_s:.0f} s: {dict(states)}")
    print(f"{'priority':>8} {'jobs':>5}   in line: {'median':>7} {'90 %':>7} {'most':>7}   "
          f"to the end: {'median':>7} {'90 %':>7} {'most':>7}  [s]")
    for priority in sorted(set(PRIORITIES), reverse=True):
        of = [j for j in last.values() if j["priority"] == priority]
        waited = spread([max(0, begun[j["job"]] - j["submitted_at_ms"]) / 1000 for j in of])
        took = spread([max(0, ended[j["job"]] - j["submitted_at_ms"]) / 1000 for j in of])
        result["in_line"][priority], result["in_all"][priority] = waited, took
        print(f"{priority:>8} {waited['jobs']:>5}   {'':8} {waited['median_s']:>7} {waited['p90_s']:>7} "
              f"{waited['most_s']:>7}   {'':11} {took['median_s']:>7} {took['p90_s']:>7} {took['most_s']:>7}")
    for owner in OWNERS[:options.owners]:
        result["by_owner"][owner] = spread([max(0, begun[j["job"]] - j["submitted_at_ms"]) / 1000
                                            for j in last.values() if j["owner"] == owner])
    print("median in line by owner [s]:", {o: s["median_s"] for o, s in result["by_owner"].items()})
    return result


def lists(options, service):
    job = service.hone("submit", options.task, "--arch", "emu:sm_90", "--budget", options.budget, "--owner",
                       OWNERS[0], "--wait")
    if job["state"] != "done":
        sys.exit(f"the first job: {job}")
    redis = Redis(service.socket)
    template = job["job"].encode()
    record = redis.send(["HGETALL", b"hone:job:" + template])[0]
    for number in range(1, options.jobs):
        other = b"%08x-%08x" % (0x60000000 + number, number)
        redis.send(["HSET", b"hone:job:" + other] + [part.replace(template, other) for part in record],
                   ["ZADD", "hone:job-ids", 1000 * (0x60000000 + number), other])
    count = len(service.hone("jobs", "--limit", "10000")["jobs"])
    result = {"jobs": options.jobs, "listed": count, "cores": os.cpu_count(), "milliseconds": {}}
    print(f"{options.jobs} ended jobs, {count} of them listed with --limit 10000; {os.cpu_count()} cores")
    tries = {"hone jobs": ["jobs"],
             "hone jobs --json -": ["jobs", "--json", "-"],
             "hone jobs --limit 1000": ["jobs", "--limit", "1000"],
             "hone jobs --owner NOBODY": ["jobs", "--owner", "nobody"],
             "hone jobs --state failed": ["jobs", "--state", "failed"],
             "hone watch PREFIX": ["watch", template[:-1].decode()],
             "hone version": ["--version"]}
    for name, arguments in tries.items():
        times = []
        for _ in range(options.repeat):
            begun = time.perf_counter()
            if service.command(*arguments).returncode != 0:
                sys.exit(name)
            times.append(1000 * (time.perf_counter() - begun))
        result["milliseconds"][name] = {"median": round(statistics.median(times), 1), "most": round(max(times), 1)}
        print(f"{name:28} median {statistics.median(times):7.1f} ms, at most {max(times):7.1f} ms")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["line", "lists"])
    parser.add_argument("--hone", default="build/release/bin/hone")
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--task", default="baselines/vector_add/vector_add.cu")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--owners", type=int, default=5)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--at-once", type=int, default=4, help="the coordinator's --jobs")
    parser.add_argument("--budget", default="3")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--patience", type=float, default=3600, help="for the last job's end [s]")
    parser.add_argument("-o", "--output", default="")
    options = parser.parse_args()
    options.hone = str(pathlib.Path(options.hone).resolve())
    options.owners = min(options.owners, len(OWNERS))
    with tempfile.TemporaryDirectory() as folder:
        service = Service(options, pathlib.Path(folder), options.workers if options.what == "line" else 1, 1)
        try:
            result = {"line": line, "lists": lists}[options.what](options, service)
        finally:
            service.stop()
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
