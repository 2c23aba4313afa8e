#!/usr/bin/env python3
"""Which strategy finds the faster programs: each on every task of some folders, with the same budget and seeds.

    tests/bench/strategies.py --gpus 4 --budget 20s --out strategies FOLDER... [--strategies evolve,random]
                              [--seeds 1,2] [--shapes 12]
    tests/bench/strategies.py --device emu:sm_90 --budget 40 --out strategies FOLDER...

Prints, for each strategy, the geometric mean over tasks and seeds of its best time over the best that any strategy found
with any seed (1 is the best there can be), and in how many runs it was within 2 % of that. On an emulated device with a
number of evaluations as budget a run repeats exactly; times are modelled. With `--shapes N`, N tasks are
drawn, as many from each folder.
searches.py says with what a search begins; the same command again goes on with what is missing.
"""
import argparse
import math
import re
import subprocess
import sys

from searches import OVERHEAD_S, Node, Rows, add_options, drawn, tasks_in


def strategies_of(hone):
    """All that `hone optimize --help` lists."""
    text = subprocess.run([hone, "optimize", "--help"], text=True, capture_output=True, check=True).stdout
    option = " ".join(re.search(r"^ *--strategy .*?(?=^ *--)", text, re.MULTILINE | re.DOTALL)[0].split())
    return re.findall(r"[:;] (\w+): ", option)


def summary(rows, strategies):
    best = {}
    for row in rows:
        best[row["task"]] = min(best.get(row["task"], math.inf), row["time_us"])
    for strategy in strategies:
        ratios = [row["time_us"] / best[row["task"]] for row in rows if row["strategy"] == strategy]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            near = sum(ratio <= 1.02 for ratio in ratios)
            print(f"{strategy:10} {mean:.3f} of the best found, within 2 % of it in {near} of {len(ratios)} runs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--device", help="an emulated one, in place of GPUs")
    parser.add_argument("--budget", default="40", help="of each search: evaluations, or seconds such as 20s")
    parser.add_argument("--strategies", default="")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--shapes", type=int, help="so many tasks, drawn from the folders in equal parts, in place of all")
    parser.add_argument("--draw", type=int, default=1, help="seed of the draw")
    options = parser.parse_args()
    if options.shapes:
        options.folders = drawn(options)
    strategies = options.strategies.split(",") if options.strategies else strategies_of(options.hone)
    tasks = tasks_in(options.folders, options.out)
    names = {task.stem for task in tasks}
    node = Node(options, options.device)
    rows = Rows(node)
    jobs = [(task, seed, strategy) for task in tasks for seed in options.seeds.split(",") for strategy in strategies]

    def good():
        return [row for row in rows.rows if row["status"] == 0 and row["budget"] == options.budget and row["task"] in names]

    def done():
        return {(row["task"], row["seed"], row["strategy"]) for row in good()}

    def work(job, gpu):
        task, seed, strategy = job
        row = node.search(task, gpu, options.budget, f"{task.stem}_{strategy}_{seed}", "--strategy", strategy, "--seed", seed)
        return row | {"seed": seed, "strategy": strategy}

    def tell(row):
        rows.add(row, "task", "seed", "strategy", "budget")
        said = f"{row['time_us']:10.2f} us" if row["status"] == 0 else f"ended with {row['status']}: see its log"
        print(f"{row['task'][:44]:44} {row['strategy']:10} seed {row['seed']} {said}", flush=True)

    known = done()
    timed = float(options.budget[:-1]) + OVERHEAD_S if options.budget.endswith("s") else OVERHEAD_S
    node.each([job for job in jobs if (job[0].stem, *job[1:]) not in known], timed, work, tell)
    summary(good(), strategies)
    sys.exit(0 if len(done() & {(job[0].stem, *job[1:]) for job in jobs}) == len(jobs) else 1)


if __name__ == "__main__":
    main()
