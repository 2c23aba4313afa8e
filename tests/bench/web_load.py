#!/usr/bin/env python3
"""`hone serve` over a large database, by hand: many readers while a process writes results.

    tests/bench/web_load.py --hone build/release/bin/hone --folder /tmp/load

Makes FOLDER/load.db once (copies of a real search's rows, under other hashes), starts the server and a
writer, and prints what readers waited. With --pause 0 readers ask again at once.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import time

TASKS, DEVICES, RUNS = 60, 4, 10_000
FINALS_OF_A_RUN = 5


def hash_of(number):
    return f"{random.Random(number).getrandbits(128):032x}"


def device_of(i):
    return [("cuda:0", "NVIDIA H200", "sm_90", 0), ("cuda:0", "NVIDIA A100", "sm_80", 0),
            ("emu:sm_90", "emulated sm_90 (H200 profile)", "sm_90", 1),
            ("emu:sm_80", "emulated sm_80 (A100 profile)", "sm_80", 1)][i % DEVICES]


def math_of(recipe):
    levels = ["exact", "reassociate", "tf32x3", "tf32", "reduced"]
    return max([levels.index(step["math"]) for step in json.loads(recipe)], default=0)


def make(args, path):
    """Whole runs at a time; a tenth of them belongs to one task, whose boards are long."""
    subprocess.run([args.hone, "optimize", args.task, "--device", "emu:sm_90", "--budget", "20", "--db", path],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -2000000")
    task = db.execute("SELECT json FROM tasks").fetchone()[0]
    programs = db.execute("SELECT program, recipe, origin FROM candidates").fetchall()
    quick = db.execute("SELECT evaluation FROM results WHERE final = 0 AND verdict = 'ok'").fetchone()[0]
    final = db.execute("SELECT evaluation FROM results WHERE final = 1 AND verdict = 'ok'").fetchone()[0]
    hashes = [hash_of(f"task {i}") for i in range(TASKS)]
    db.execute("BEGIN")
    for i, task_hash in enumerate(hashes):
        db.execute("INSERT INTO tasks VALUES (?, ?, ?, '2026-01-01T00:00:00.000Z')", (task_hash, f"task_{i:02}", task))
        for d in range(DEVICES):
            device, name, arch, modelled = device_of(d)
            db.execute("INSERT INTO boards VALUES (?, ?, ?, ?, ?)", (task_hash, name, modelled, device, arch))
    db.execute("COMMIT")
    each = args.evaluations // RUNS
    now = "2026-01-01T00:00:01.000Z"
    source = random.Random(1)
    started = time.time()
    for run in range(RUNS):
        if run % 100 == 0:
            db.execute("BEGIN")
        task_hash = hashes[0] if run % 10 == 0 else hashes[run % TASKS]
        device, name, arch, modelled = device_of(run // 10)
        cursor = db.execute(
            "INSERT INTO runs (task_hash, device, device_name, arch, toolchain, driver, hone_version, modelled, seed, "
            "strategy, started_at, ended_at, status) VALUES (?, ?, ?, ?, 'NVRTC 13.0', '', '0.1.0', ?, 1, 'evolve', "
            "?, ?, 'budget')", (task_hash, device, name, arch, modelled, now, now))
        candidates, results, points = [], [], []
        for i in range(each):
            program_hash = f"{source.getrandbits(128):032x}"
            program, recipe, origin = programs[i % len(programs)]
            is_final = i < FINALS_OF_A_RUN
            ok = is_final or i % 4
            speedup = source.uniform(0.5, 8)
            evaluation = json.loads(final if is_final else quick)
            evaluation["measurement"]["speedup"] = speedup
            evaluation["verdict"] = "ok" if ok else "wrong_result"
            math = math_of(recipe) if is_final else None
            points.append((cursor.lastrowid, i + 1, program_hash[:12], int(is_final), "ok" if ok else "wrong_result",
                           speedup, 100 / speedup, now))
            candidates.append((program_hash[:12], program_hash, task_hash, program, recipe, origin, ""))
            results.append((program_hash[:12], cursor.lastrowid, task_hash, device, name, arch, modelled,
                            int(is_final), "ok" if ok else "wrong_result", speedup, 100 / speedup,
                            json.dumps(evaluation), now, origin if is_final else None, math))
        db.executemany("INSERT OR IGNORE INTO candidates VALUES (?, ?, ?, ?, ?, ?, ?)", candidates)
        db.executemany(
            "INSERT OR IGNORE INTO results (candidate, run, task_hash, device, device_name, arch, toolchain, driver, "
            "hone_version, modelled, final, verdict, speedup, time_us, evaluation, found_at, origin, math) VALUES "
            "(?, ?, ?, ?, ?, ?, 'NVRTC 13.0', '', '0.1.0', ?, ?, ?, ?, ?, ?, ?, ?, ?)", results)
        db.executemany("INSERT OR IGNORE INTO run_points (run, id, candidate, final, verdict, speedup, time_us, found_at) "
                       "VALUES (?, ?, ?, ?, ?, ?, ?, ?)", points)
        if run % 100 == 99:
            db.execute("COMMIT")
    print(f"made {db.execute('SELECT COUNT(*) FROM results').fetchone()[0]} evaluations in "
          f"{time.time() - started:.0f} s, {os.path.getsize(path) >> 20} MiB")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # before it gets its name
    db.close()


def write(path, stop, written):
    """As a search does: a transaction for each result."""
    db = sqlite3.connect(path, isolation_level=None, timeout=30)
    db.execute("PRAGMA synchronous = NORMAL")
    row = db.execute("SELECT * FROM candidates LIMIT 1").fetchone()
    columns = [c[1] for c in db.execute("PRAGMA table_info(results)")][1:]
    result = list(db.execute(f"SELECT {', '.join(columns)} FROM results WHERE final = 1 LIMIT 1").fetchone())
    run = db.execute("SELECT MAX(id) FROM runs").fetchone()[0]
    number = random.SystemRandom().getrandbits(64)
    while not stop.is_set():
        number += 1
        program_hash = hash_of(number)
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT OR IGNORE INTO candidates VALUES (?, ?, ?, ?, ?, ?, ?)",
                   (program_hash[:12], program_hash, *row[2:]))
        result[columns.index("candidate")] = program_hash[:12]
        db.execute(f"INSERT OR IGNORE INTO results ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                   result)
        db.execute("INSERT OR IGNORE INTO run_points (run, id, candidate, final, verdict, found_at) "
                   "SELECT ?1, COALESCE(MAX(id), 0) + 1, ?2, 0, 'ok', '2026-01-01T00:00:02.000Z' FROM run_points "
                   "WHERE run = ?1", (run, program_hash[:12]))
        db.execute("COMMIT")
        written.value += 1
        time.sleep(0.01)  # a hundred a second at most


async def fetch(host, port, path, connection):
    reader, writer = connection
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    await reader.readexactly(length)
    return status


async def reader(host, port, paths, args, until, seed, waits, errors):
    choose = random.Random(seed)
    connection = None
    await asyncio.sleep(choose.random() * max(args.pause, 0.2))
    while time.time() < until:
        kind = choose.choice(list(paths))
        began = time.perf_counter()
        try:
            if connection is None:
                connection = await asyncio.open_connection(host, port)
            status = await asyncio.wait_for(fetch(host, port, choose.choice(paths[kind]), connection), 30)
            if status != 200:
                errors.append(f"{kind}: {status}")
        except Exception as error:  # counted, whatever it is
            errors.append(f"{kind}: {type(error).__name__}")
            connection = None
        waits[kind].append(1000 * (time.perf_counter() - began))
        await asyncio.sleep(args.pause * choose.uniform(0.5, 1.5))


def percentiles(name, values):
    values = sorted(values)
    if not values:
        return
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))]
    print(f"{name:<24} {len(values):>7}  p50 {at(0.5):7.1f} ms  p99 {at(0.99):7.1f} ms  most {values[-1]:7.1f} ms")


async def read_all(host, port, paths, args):
    waits, errors = {kind: [] for kind in paths}, []
    until = time.time() + args.seconds
    await asyncio.gather(*(reader(host, port, paths, args, until, i, waits, errors) for i in range(args.readers)))
    return waits, errors


async def leaderboards(host, port, hashes, filters=""):
    """One board after the other, none of them kept from before."""
    connection = await asyncio.open_connection(host, port)
    values = []
    for i, task_hash in enumerate(hashes * 2):
        began = time.perf_counter()
        await fetch(host, port, f"/api/v1/boards?task={task_hash}&rows={10 + i % 7}&arch=sm_90&modelled=false{filters}", connection)
        values.append(1000 * (time.perf_counter() - began))
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--task", default=str(pathlib.Path(__file__).parents[2] / "baselines/matmul/matmul.cu"))
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--pause", type=float, default=1.0, help="what a reader looks at a page [s]")
    args = parser.parse_args()
    folder = pathlib.Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = str(folder / "load.db")
    if not os.path.exists(path):
        make(args, path + ".new")
        subprocess.run([args.hone, "leaderboard", "--db", path + ".new", "--limit", "1", "--json", "/dev/null"],
                       check=True, stdout=subprocess.DEVNULL)
        os.rename(path + ".new", path)
    db = sqlite3.connect(path)
    hashes = [row[0] for row in db.execute("SELECT hash FROM tasks")]
    finals = [row[0] for row in db.execute("SELECT candidate FROM results WHERE final = 1 ORDER BY id LIMIT 20000")]
    highest = db.execute("SELECT MAX(id) FROM results").fetchone()[0]
    any_of = [db.execute("SELECT candidate FROM results WHERE id >= ? LIMIT 1",
                         (random.Random(i).randrange(highest),)).fetchone()[0] for i in range(20000)]
    db.close()
    host, port = "127.0.0.1", 18099
    server = subprocess.Popen([args.hone, "serve", "--db", path, "--listen", f"{host}:{port}"],
                              stderr=subprocess.DEVNULL)
    stop, written = multiprocessing.Event(), multiprocessing.Value("i", 0)
    writer = multiprocessing.Process(target=write, args=(path, stop, written))
    try:
        time.sleep(1)
        percentiles("one leaderboard, alone", asyncio.run(leaderboards(host, port, hashes)))
        for filters in ("&origin=rules", "&origin=none", "&math=exact", "&origin=tunables&math=reassociate"):
            percentiles(filters, asyncio.run(leaderboards(host, port, hashes, filters)))
        writer.start()
        paths = {"boards": ["/"] + [f"/?arch={a}&modelled={m}" for a in ("sm_90", "sm_80") for m in ("true", "false")],
                 "task": [f"/tasks/{h}" for h in hashes],
                 "candidate, final": [f"/candidates/{c}" for c in finals],
                 "candidate, any": [f"/candidates/{c}" for c in any_of]}
        waits, errors = asyncio.run(read_all(host, port, paths, args))
        for kind, values in waits.items():
            percentiles(kind, values)
        percentiles("all", [v for values in waits.values() for v in values])
        print(f"{args.readers} readers, {args.pause} s each page, {args.seconds:.0f} s: "
              f"{len(errors)} errors {sorted(set(errors))[:5]}; {written.value} results written beside")
    finally:
        stop.set()
        if writer.is_alive():
            writer.join()
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
