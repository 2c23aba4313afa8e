#!/usr/bin/env python3
"""What one evaluation costs a service beside the GPU, and to how many GPUs that reaches: a Redis server,
a coordinator and instant_workers, whose GPUs answer at once, all on this machine. A worker has up to 8
GPUs, as a node has.

    tests/bench/fleet_scale.py --gpus 1,8,64 --jobs 1,4 --budget 20s -o fleet_scale.json

For each number of GPUs and of jobs at once it prints, per evaluation: calls and bytes of Redis (its own
counts), processors' seconds of the coordinator's process, of its busiest thread, of its children that
rewrite, of Redis and of the worker. Then the arithmetic. A GPU that evaluates --per-gpu candidates a
second asks for so many times those numbers, of the row with most evaluations. One search is full when
its thread works all the time: the busiest one where there is one job. The coordinator's machine is full
when its --cores are, Redis when its one thread is.
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

from fleet_throughput import wait_for
from team_jobs import Redis

ROOT = pathlib.Path(__file__).resolve().parents[2]
TICK = os.sysconf("SC_CLK_TCK")
NODE, AT_ONCE = 8, 24  # GPUs of a worker, and evaluations at once on each, as of `hone worker` with few cores a GPU


def seconds(path):
    fields = pathlib.Path(path).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def threads(pid):
    """Seconds by thread: name and number."""
    out = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            out[(task / "comm").read_text().strip(), int(task.name)] = seconds(task / "stat")
        except OSError:
            pass
    return out


class Descendants(threading.Thread):
    """Seconds of all that descends from a process; who has ended counts as it was last seen."""

    def __init__(self, root):
        super().__init__(daemon=True)
        self.root, self.seen, self.ended = root, {}, threading.Event()
        self.busiest = {}
        self.start()

    def look(self):
        parents = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    stat = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                    parents[int(entry)] = int(stat[1])
                except OSError:
                    pass
        for pid in parents:
            up = parents.get(pid)
            while up and up != self.root:
                up = parents.get(up)
            if up == self.root:
                try:
                    self.seen[pid] = seconds(f"/proc/{pid}/stat")
                except OSError:
                    pass
        self.busiest |= threads(self.root)

    def run(self):
        while not self.ended.wait(0.25):
            self.look()

    def total(self):
        return sum(self.seen.values())


class Counted:
    """Redis's own counts."""

    def __init__(self, redis):
        info = redis.send(["INFO", "stats"], ["INFO", "cpu"])
        text = b"".join(info).decode()
        self.values = {name: float(value) for name, value in re.findall(r"(\w+):([\d.]+)\r", text)}

    def since(self, other, name):
        return self.values[name] - other.values[name]


def one(options, gpus, jobs, folder):
    url = f"unix://{folder / 'redis.sock'}"
    environment = dict(os.environ, HOME=str(folder), XDG_CACHE_HOME=str(folder / "cache"),
                       XDG_DATA_HOME=str(folder / "data"))
    log = open(folder / "coordinator.log", "w+")
    started = []

    def start(*command, out=subprocess.DEVNULL):
        started.append(subprocess.Popen(command, stdout=out, stderr=out, env=environment))
        return started[-1]

    try:
        redis = start(options.redis, "--port", "0", "--unixsocket", str(folder / "redis.sock"), "--save", "", "--dir",
                      str(folder))
        wait_for("redis", (folder / "redis.sock").exists)
        connection = Redis(folder / "redis.sock")
        coordinator = start(options.hone, "coordinator", "--redis", url, "--db", str(folder / "hone.db"), out=log)
        workers = [start(options.instant, "--redis", url, str(min(NODE, gpus - at)), str(AT_ONCE))
                   for at in range(0, gpus, NODE)]
        wait_for("workers", lambda: subprocess.run(
            [options.hone, "workers", "--redis", url, "--json", "-"], capture_output=True,
            text=True).stdout.count('"pool"') == gpus)
        children = Descendants(coordinator.pid)
        def of_workers():
            return sum(seconds(f"/proc/{worker.pid}/stat") for worker in workers)

        before, workers_before = Counted(connection), of_workers()
        own_before, busiest_before = seconds(f"/proc/{coordinator.pid}/stat"), threads(coordinator.pid)
        begin = time.time()
        submitted = [subprocess.Popen(
            [options.hone, "submit", str(ROOT / "baselines" / task / f"{task}.cu"), "--redis", url, "--budget",
             options.budget, "--seed", str(options.seed + i), "--patience", "100", "--no-known", "--wait"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            for i, task in zip(range(jobs), options.tasks.split(",") * jobs)]
        for job in submitted:
            job.wait()
        wall_s = time.time() - begin
        children.look()
        children.ended.set()
        after = Counted(connection)
        log.seek(0)
        ended = re.findall(r"(\d+) evaluations in ([\d.]+) s, ([\d.]+)/s", log.read())
        row = {"gpus": gpus, "jobs": jobs, "wall_s": wall_s, "evaluations": sum(int(e[0]) for e in ended),
               "per_s": sum(float(e[2]) for e in ended),
               "redis_calls": after.since(before, "total_commands_processed"),
               "redis_bytes": after.since(before, "total_net_input_bytes")
               + after.since(before, "total_net_output_bytes"),
               "redis_s": after.since(before, "used_cpu_user") + after.since(before, "used_cpu_sys"),
               "coordinator_s": seconds(f"/proc/{coordinator.pid}/stat") - own_before,
               "children_s": children.total(),
               "busiest_s": max((s - busiest_before.get(key, 0) for key, s in children.busiest.items()), default=0),
               "busiest": max(children.busiest, key=children.busiest.get)[0],
               "worker_s": of_workers() - workers_before}
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
        for process in started:
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                process.kill()
    return row


def arithmetic(options, rows):
    row = max(rows, key=lambda row: row["evaluations"])
    searches = [r["evaluations"] / r["busiest_s"] for r in rows if r["jobs"] == 1 and r["busiest_s"] > 0]
    each = {key: row[key] / max(1, row["evaluations"]) for key in
            ("redis_calls", "redis_bytes", "redis_s", "coordinator_s", "children_s")}
    print(f"\nby the row of {row['gpus']} GPUs and {row['jobs']} jobs, a GPU that evaluates {options.per_gpu:g} a second:")
    print(f"{'GPUs':>6} {'eval/s':>8} {'calls/s':>9} {'MB/s':>7} {'Redis cores':>12} {'coordinator cores':>18} "
          f"{'rewriting cores':>16}")
    for gpus in (1, 8, 64, 250, 1000):
        rate = gpus * options.per_gpu
        print(f"{gpus:>6} {rate:>8.0f} {rate * each['redis_calls']:>9.0f} {rate * each['redis_bytes'] / 1e6:>7.1f} "
              f"{rate * each['redis_s']:>12.2f} {rate * each['coordinator_s']:>18.2f} "
              f"{rate * each['children_s']:>16.1f}")
    search = min(searches, default=0)
    machine = options.cores / max(1e-9, each["coordinator_s"] + each["children_s"])
    server = 1 / max(1e-9, each["redis_s"])
    print(f"full at: one search {search:.0f} evaluations/s ({search / options.per_gpu:.0f} GPUs), "
          f"a coordinator with {options.cores} cores {machine:.0f}/s ({machine / options.per_gpu:.0f} GPUs), "
          f"Redis's thread {server:.0f}/s ({server / options.per_gpu:.0f} GPUs)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build/release/bin/hone"))
    parser.add_argument("--instant", default="", help="instant_worker; default: beside hone")
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--gpus", default="1,8,64")
    parser.add_argument("--jobs", default="1,4", help="at once")
    parser.add_argument("--tasks", default="matmul,softmax,conv3x3,attention", help="of the jobs, in turn")
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-gpu", type=float, default=20, help="evaluations a second of a real GPU")
    parser.add_argument("--cores", type=int, default=32, help="of the coordinator's machine in the arithmetic")
    parser.add_argument("-o", "--output", default="")
    options = parser.parse_args()
    options.hone = str(pathlib.Path(options.hone).resolve())
    options.instant = options.instant or str(pathlib.Path(options.hone).parent / "instant_worker")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends, too
    rows = []
    print(f"{os.cpu_count()} cores; for each evaluation:\n{'GPUs':>5} {'jobs':>5} {'evaluated':>10} {'eval/s':>7} "
          f"{'calls':>6} {'KB':>6} {'coordinator':>12} {'busiest thread':>15} {'rewriting':>10} {'Redis':>8} {'worker':>8}")
    for gpus in map(int, options.gpus.split(",")):
        for jobs in map(int, options.jobs.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                row = one(options, gpus, jobs, pathlib.Path(folder))
            rows.append(row)
            n = max(1, row["evaluations"])
            print(f"{gpus:>5} {jobs:>5} {row['evaluations']:>10} {row['per_s']:>7.0f} {row['redis_calls'] / n:>6.1f} "
                  f"{row['redis_bytes'] / n / 1e3:>6.1f} {1e3 * row['coordinator_s'] / n:>9.2f} ms "
                  f"{1e3 * row['busiest_s'] / n:>12.2f} ms {1e3 * row['children_s'] / n:>7.2f} ms "
                  f"{1e3 * row['redis_s'] / n:>5.2f} ms {1e3 * row['worker_s'] / n:>5.2f} ms", flush=True)
            if options.output:
                pathlib.Path(options.output).write_text(json.dumps(rows, indent=1) + "\n")
    arithmetic(options, rows)


if __name__ == "__main__":
    main()
