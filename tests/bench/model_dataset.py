#!/usr/bin/env python3
"""Makes the data set of tests/bench/model_accuracy out of a database of measured candidates.

Usage: tests/bench/model_dataset.py DATABASE OUTPUT [PER_TASK]

The database comes from `hone optimize TASK --device cuda:0 --strategy random --budget 150`, one run
a task. Takes PER_TASK candidates (default 120) of each baseline in the order of their hashes, which
is no order that anybody chose; every second one is for fitting, the others are for judging.
"""
import json
import pathlib
import sqlite3
import sys


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    per_task = int(sys.argv[3]) if len(sys.argv) > 3 else 120
    root = pathlib.Path(__file__).resolve().parents[2]
    files = {f.parent.name: f.relative_to(root) for f in (root / "baselines").glob("*/*.cu")}
    db = sqlite3.connect(sys.argv[1])
    tasks, devices = {}, set()
    for name, task_json in db.execute("SELECT name, hash FROM tasks ORDER BY name"):
        rows = db.execute(
            "SELECT c.program_hash, c.recipe, r.time_us, r.device_name, r.driver, r.toolchain "
            "FROM results r JOIN candidates c ON c.id = r.candidate "
            "WHERE r.task_hash = ? AND r.verdict = 'ok' AND r.final = 0 AND r.modelled = 0 "
            "ORDER BY c.program_hash LIMIT ?", (task_json, per_task)).fetchall()
        if name not in files or not rows:
            print(f"left out: {name}, {len(rows)} candidates", file=sys.stderr)
            continue
        devices |= {(row[3], row[4], row[5]) for row in rows}
        tasks[name] = {
            "file": str(files[name]),
            "candidates": [
                {"set": "fit" if i % 2 else "judge", "time_us": round(row[2], 3),
                 "recipe": json.loads(row[1])} for i, row in enumerate(rows)]}
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write('{"measured_on": %s,\n "tasks": {\n' % json.dumps(sorted(devices)))
        for k, (name, task) in enumerate(tasks.items()):
            out.write('"%s": {"file": "%s", "candidates": [\n' % (name, task["file"]))
            out.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in task["candidates"]))
            out.write("\n]}%s\n" % ("," if k + 1 < len(tasks) else ""))
        out.write("}}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
