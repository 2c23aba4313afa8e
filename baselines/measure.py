#!/usr/bin/env python3
"""Runs `hone optimize` on each task as a user does, PyTorch and cuBLAS beside it, and writes the table.

    baselines/measure.py run OUT TASK.cu [TASK.cu ...] [--device cuda:0] [--budget 20s] [--torch] [--until SECONDS]
    baselines/measure.py table OUT > baselines/results/DATE.md

`run` keeps one JSON file for each task in OUT and leaves out what is there already, so that it can be stopped
and begun again; `--until` begins no further task after so many seconds. With `--torch`, PyTorch's times
(torch_baseline.py) and, where the task is a product, cuBLAS's (`hone baseline`) are taken in the same call.
The wall time of a row is that of the whole command, from its start to its end. Exit status 1: a task failed.
`table` prints Markdown: what was measured, where, when, by which command, and every run that took longer than
its budget and 10 s or 10 %, whichever is larger.
"""
import argparse
import datetime
import json
import math
import pathlib
import re
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
GRACE_S, GRACE_SHARE = 10, 0.10
SECONDS = {"s": 1, "m": 60, "h": 3600}


def find_hone():
    for path in (HERE.parent / "build/release/bin/hone", HERE.parent / "bin/hone"):
        if path.exists():
            return str(path)
    return "hone"


def seconds_of(budget):
    """None where the budget is a count of evaluations."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", budget)
    return float(match[1]) * SECONDS[match[2]] if match else None


def name_of(task):
    path = pathlib.Path(task)
    return path.parent.name + "-" + path.stem if path.parent.name != path.stem else path.stem


def append_error(row, text):
    row["error"] = "; ".join(filter(None, [row.get("error"), text]))


def optimize(arguments, task, database, report):
    command = [arguments.hone, "optimize", task, "--device", arguments.device, "--budget", arguments.budget,
               "--seed", str(arguments.seed), "--db", str(database), "--json", str(report), "--quiet",
               *shlex.split(arguments.options)]
    begin = time.monotonic()
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    row = {"task": name_of(task), "wall_s": time.monotonic() - begin, "exit": ended.returncode,
           "output": ended.stdout[-20000:]}
    if report.exists():
        row["report"] = json.loads(report.read_text())
        report.unlink()
    if ended.returncode != 0:
        append_error(row, ended.stdout.strip().splitlines()[-1] if ended.stdout.strip() else "no output")
    return row


def library_times(arguments, task, database):
    """cuBLAS's times, or nothing where the task is no product."""
    ended = subprocess.run([arguments.hone, "baseline", task, "--device", arguments.device, "--db", str(database),
                            "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    try:
        return json.loads(ended.stdout)
    except json.JSONDecodeError:
        return None


def torch_times(arguments, tasks, out):
    target = out / "torch.json"
    ended = subprocess.run([sys.executable, str(HERE / "torch_baseline.py"), *tasks, "--device", arguments.device,
                            "--hone", arguments.hone, "--json", str(target)], check=False)
    if ended.returncode != 0 and not target.exists():
        print(f"torch_baseline.py ended with {ended.returncode}", file=sys.stderr)


def run(arguments):
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    began, failed = time.monotonic(), 0
    left = [t for t in arguments.tasks if not (out / f"{name_of(t)}.json").exists()]
    settings = {"budget": arguments.budget, "device": arguments.device, "seed": arguments.seed,
                "options": arguments.options, "date": datetime.date.today().isoformat()}
    (out / "settings.json").write_text(json.dumps(settings, indent=1))
    for index, task in enumerate(left):
        if arguments.until and time.monotonic() - began > arguments.until:
            print(f"{len(left) - index} tasks left; the same command goes on", file=sys.stderr)
            break
        database = out / "hone.db"
        row = optimize(arguments, task, database, out / "report.tmp")
        if arguments.torch:
            row["libraries"] = library_times(arguments, task, database)
        (out / f"{name_of(task)}.json").write_text(json.dumps(row, indent=1))
        failed += bool(row.get("error"))
        best = (row.get("report") or {}).get("best") or {}
        print(f"{row['task']}: {row['wall_s']:.1f} s, {best.get('speedup', 0):.2f}x {row.get('error', '')}", flush=True)
    if arguments.torch and not (out / "torch.json").exists():
        torch_times(arguments, arguments.tasks, out)
    return 1 if failed else 0


def shown(us):
    return "" if not us else f"{us / 1000:.3f} ms" if us >= 1000 else f"{us:.1f} us"


def ratio(other, own):
    return f"{other / own:.2f}" if other and own else ""


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def steps_of(best):
    return " > ".join(step["rewriter"] for step in best.get("recipe", [])) or "the reference"


def library_of(row):
    """kind -> us of the vendor's library."""
    times = {}
    for entry in (row.get("libraries") or {}).get("baselines", []):
        if entry.get("time_us") and not entry.get("kind", "").startswith("torch"):
            times[entry["kind"]] = entry["time_us"]
    return times


def table(arguments):
    out = pathlib.Path(arguments.out)
    settings = json.loads((out / "settings.json").read_text())
    rows = [json.loads(p.read_text()) for p in sorted(out.glob("*.json")) if p.name not in ("settings.json", "torch.json")]
    if not rows:
        sys.exit(f"{out}: no runs")
    reports = [r["report"] for r in rows if r.get("report")]
    first = reports[0] if reports else {}
    torch_path = out / "torch.json"
    torch = json.loads(torch_path.read_text()) if torch_path.exists() else {"results": []}
    eager, compiled = ({r["task_hash"]: r["time_us"] for r in torch["results"] if r["kind"] == kind and r.get("time_us")}
                       for kind in ("torch eager", "torch.compile"))
    modelled = any(r.get("modelled") for r in reports)
    print(f"# {len(rows)} tasks, {settings['budget']} each, {settings['date']}\n")
    print(f"{'Modelled, not measured, on' if modelled else 'Measured on'} {first.get('device_name', settings['device'])}, "
          f"{first.get('toolchain', '')}, seed {settings['seed']}"
          + (f", {torch['versions']}" if torch.get("versions") else "") + ".\n")
    print("```")
    print(f"baselines/measure.py run OUT TASKS --device {settings['device']} --budget {settings['budget']}"
          + (f" --options '{settings['options']}'" if settings["options"] else "")
          + (" --torch" if torch.get("versions") else ""))
    print("baselines/measure.py table OUT\n```\n")
    beside = bool(eager)
    heads = ["task", "reference", "hone", "speedup", "95 % interval", "of the roof", "evaluated", "wall s"]
    heads += ["torch eager", "torch.compile", "cuBLAS", "best of these / hone"] if beside else []
    heads += ["recipe"]
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    speedups, against, late = [], [], []
    budget_s = seconds_of(settings["budget"])
    for row in rows:
        report, best = row.get("report") or {}, (row.get("report") or {}).get("best") or {}
        own = best.get("time_us")
        if best.get("speedup"):
            speedups.append(best["speedup"])
        interval = best.get("ci95") or []
        cells = [row["task"], shown(best.get("reference_time_us") or report.get("reference", {}).get("time_us")), shown(own),
                 f"{best['speedup']:.2f}" if best.get("speedup") else row.get("error", "none"),
                 f"{interval[0]:.2f} - {interval[1]:.2f}" if interval and interval[0] else "",
                 f"{100 * best['roof_fraction']:.0f} %" if best.get("roof_fraction") else "",
                 str(report.get("counts", {}).get("ok", "")), f"{row['wall_s']:.1f}"]
        if beside:
            task_hash = report.get("task_hash")
            others = [eager.get(task_hash), compiled.get(task_hash), min(library_of(row).values(), default=None)]
            fastest = min((o for o in others if o), default=None)
            if fastest and own:
                against.append(fastest / own)
            cells += [shown(o) for o in others] + [ratio(fastest, own)]
        cells.append(steps_of(best) if best else "")
        print("| " + " | ".join(cells) + " |")
        if budget_s and row["wall_s"] > budget_s + max(GRACE_S, GRACE_SHARE * budget_s):
            late.append(f"{row['task']} ({row['wall_s']:.1f} s)")
    print(f"\nGeometric mean of {len(speedups)} speedups over the reference: {geometric(speedups):.2f}.")
    if against:
        print(f"Against the fastest of PyTorch (eager, compiled) and cuBLAS, {len(against)} tasks: "
              f"{geometric(against):.2f}; at least as fast in {sum(a >= 1 for a in against)}, lowest {min(against):.2f}.")
    if beside:
        print("PyTorch and cuBLAS in f32 without TF32, unless a task's `math` is `reduced`; cold L2, as for hone.")
    if budget_s:
        walls = sorted(r["wall_s"] for r in rows)
        print(f"Wall time: median {walls[len(walls) // 2]:.1f} s, longest {walls[-1]:.1f} s; over the budget by more than "
              f"{GRACE_S} s or {100 * GRACE_SHARE:.0f} %: {', '.join(late) if late else 'none'}.")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="search for every task")
    runs.add_argument("out", metavar="OUT")
    runs.add_argument("tasks", nargs="+", metavar="TASK.cu")
    runs.add_argument("--device", default="cuda:0")
    runs.add_argument("--budget", default="20s")
    runs.add_argument("--seed", type=int, default=1)
    runs.add_argument("--options", default="", help="further options of `hone optimize`, in one string")
    runs.add_argument("--torch", action="store_true", help="PyTorch and cuBLAS, too")
    runs.add_argument("--until", type=float, default=0, metavar="SECONDS")
    runs.add_argument("--hone", default=find_hone())
    tables = commands.add_parser("table", help="print Markdown")
    tables.add_argument("out", metavar="OUT")
    arguments = parser.parse_args()
    sys.exit(run(arguments) if arguments.command == "run" else table(arguments))


if __name__ == "__main__":
    main()
