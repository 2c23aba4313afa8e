#!/usr/bin/env python3
"""How near a search's first eight programs come to the best that a long one finds.

    tests/bench/first_guesses.py --gpus 4 --out first_guesses FOLDER ... [--shapes 30] [--draw 1]
                                 [--first 8] [--budget 60s]

Draws some tasks, as many from each folder, and makes the largest size of each a tenth larger: a shape
that nothing was fitted to. Each is searched twice on a GPU of its own: with as many evaluations as
`--first` says, and with `--budget`. Prints the first one's time over the better of the two, and at the
end how many are within 10 % and the median. Both times are of final stages. searches.py says with what
a search begins; the same command again goes on with what is missing.
"""
import argparse
import pathlib
import statistics
import sys

from searches import OVERHEAD_S, Node, Rows, add_options, drawn, enlarged, seconds


def larger(options):
    """The drawn tasks' files, enlarged, in OUT/tasks."""
    folder = pathlib.Path(options.out) / "tasks"
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for task in drawn(options):
        files.append(folder / f"{task.stem}_larger.cu")
        files[-1].write_text(enlarged(task.read_text()))
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--budget", type=seconds, default="60s", help="of the long search")
    parser.add_argument("--first", type=int, default=8, help="evaluations of the short one")
    parser.add_argument("--shapes", type=int, default=30)
    parser.add_argument("--draw", type=int, default=1, help="seed of the draw")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    node = Node(options)
    rows = Rows(node)
    tasks = larger(options)

    def work(task, gpu):
        short = node.search(task, gpu, str(options.first), f"{task.stem}_first")
        long = node.search(task, gpu, options.budget, task.stem)
        row = {"task": task.stem, "gpu": gpu, "budget": options.budget, "first": options.first, "short": short, "long": long,
               "status": short["status"] if short["status"] != 0 else long["status"]}
        if row["status"] == 0:
            row["ratio"] = short["time_us"] / min(short["time_us"], long["time_us"])
        return row

    def tell(row):
        rows.add(row, "task", "budget", "first")
        head = f"{row['task'][:52]:52} cuda:{row['gpu']}"
        print(f"{head} first {row['short']['time_us']:10.2f} us, best {row['long']['time_us']:10.2f} us: {row['ratio']:6.3f}"
              if row["status"] == 0 else f"{head} ended with {row['status']}: see its log", flush=True)

    def good():
        names = {task.stem for task in tasks}
        return [row for row in rows.rows if row["status"] == 0 and row["task"] in names and
                (row["budget"], row["first"]) == (options.budget, options.first)]

    known = {row["task"] for row in good()}
    node.each([task for task in tasks if task.stem not in known], float(options.budget[:-1]) + 2 * OVERHEAD_S + 4, work, tell)
    ratios = [row["ratio"] for row in good()]
    if ratios:
        print(f"{len(ratios)} shapes: the median is {statistics.median(ratios):.3f} of the best, "
              f"{sum(ratio <= 1.1 for ratio in ratios)} are within 10 %")
    sys.exit(0 if len(ratios) == len(tasks) else 1)


if __name__ == "__main__":
    main()
