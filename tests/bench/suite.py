#!/usr/bin/env python3
"""Many tasks on the GPUs of this node: a search on each GPU, side by side, without a server.

    tests/bench/suite.py --gpus 4 --budget 15s --out suite_4 TASK.cu ... FOLDER ...

Each search has one GPU and an equal share of the processors, and its GPU gets the next task when it
ends. Prints a line for each task, and at the end the wall time of all.

  wall      seconds of the whole command
  outside   the part of it before the search began and after it ended
  best      the best candidate's time in the final stage, and its speedup over the reference

OUT/NAME.json and OUT/NAME.log have what hone wrote for a task, OUT/rows.json all lines. The same
command again goes on with the tasks that have no result yet; with `--until S` no search begins that
would not end within S seconds. searches.py says with what a search begins.
"""
import argparse
import sys
import time

from searches import OVERHEAD_S, Node, Rows, add_options, seconds, tasks_in


def line(row):
    head = f"{row['task'][:44]:44} cuda:{row['gpu']} {row['wall_s']:6.1f} s"
    if row["status"] != 0:
        return f"{head}  ended with {row['status']}: see its log"
    return (f"{head} {row['wall_s'] - row['search_s']:6.1f} s outside {row['evaluated']:6} evaluated  "
            f"best {row['time_us']:10.2f} us {row['speedup']:8.2f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--budget", type=seconds, default="15s", help="of each search")
    parser.add_argument("--option", dest="more", action="append", default=[], help="one more for hone optimize")
    parser.add_argument("tasks", nargs="+", help=".cu files, or folders of them")
    options = parser.parse_args()
    tasks = tasks_in(options.tasks, options.out)
    node = Node(options)
    rows = Rows(node)
    names = {task.stem for task in tasks}

    def done():
        return {row["task"] for row in rows.rows if row["status"] == 0 and row["budget"] == options.budget} & names

    def tell(row):
        rows.add(row, "task", "budget")
        print(line(row), flush=True)

    searching = time.monotonic()
    node.each([task for task in tasks if task.stem not in done()], float(options.budget[:-1]) + OVERHEAD_S,
              lambda task, gpu: node.search(task, gpu, options.budget, task.stem, *options.more), tell)
    missing = names - done()
    print(f"{len(names) - len(missing)} of {len(names)} tasks have a result; the searches of this command took "
          f"{time.monotonic() - searching:.0f} s on {options.gpus} GPUs")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
