#!/usr/bin/env python3
"""baselines/measure.py on the emulator: runs, goes on where it stopped, and its table tells what happened."""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HONE = sys.argv[1]


def measure(*arguments):
    return subprocess.run([sys.executable, str(ROOT / "baselines/measure.py"), *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def check(condition, why, ended):
    if not condition:
        sys.exit(f"{why}\n{ended.stdout}")


with tempfile.TemporaryDirectory() as folder:
    out = pathlib.Path(folder) / "out"
    good = str(ROOT / "baselines/vector_add/vector_add.cu")
    bad = pathlib.Path(folder) / "bad.cu"
    bad.write_text("/* hone { \"name\": \"bad\" } */\n")
    options = ["--device", "emu:sm_90", "--budget", "3", "--hone", HONE]

    ended = measure("run", str(out), good, *options)
    check(ended.returncode == 0, "a good task fails", ended)
    row = json.loads((out / "vector_add.json").read_text())
    check(row["report"]["task"] == "vector_add" and row["wall_s"] > 0, "the row lacks its report", ended)

    ended = measure("run", str(out), good, str(bad), *options)
    check(ended.returncode == 1, "a task that cannot be read is no failure", ended)
    check("vector_add:" not in ended.stdout, "what was measured is measured again", ended)

    ended = measure("table", str(out))
    check(ended.returncode == 0, "no table", ended)
    check("| vector_add | " in ended.stdout and "Modelled, not measured" in ended.stdout, "the table lacks a row", ended)
    refused = [line for line in ended.stdout.splitlines() if "-bad |" in line]
    check(len(refused) == 1 and "bad.cu" in refused[0], "the table hides what failed", ended)

    # A run that took longer than it may is named.
    (out / "settings.json").write_text(json.dumps({**json.loads((out / "settings.json").read_text()), "budget": "1s"}))
    row["wall_s"] = 11.5
    (out / "vector_add.json").write_text(json.dumps(row))
    ended = measure("table", str(out))
    check("vector_add (11.5 s)" in ended.stdout, "the table hides a run that took too long", ended)
