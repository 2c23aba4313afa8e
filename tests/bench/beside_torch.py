#!/usr/bin/env python3
"""Searches for products and attention on the GPUs of this node, and what was found beside PyTorch in one run.

    PYTHONPATH=python tests/bench/beside_torch.py --out FOLDER [--budget 25s] [--gpus 1] [--until SECONDS] [--rows NAME ...]

For each row hone searches from the naive kernels (searches.py says with what it begins). Then a process of its own times the best
candidate, as the operator of `hone.load`, and PyTorch's ways in turns, each call alone with a cold L2, as hone's evaluator does;
the medians of 30 [us]. PyTorch's ways are cuBLAS for products (cuBLASLt for 8-bit floats) and three backends of
scaled_dot_product_attention; TF32 is off. `ratio` is the fastest of them over hone, `error` the largest difference between hone's
answer and the first of theirs, in root mean squares of the answer. The same command again goes on with what is missing.

Rows: `--list` prints their names; a name that ends in * stands for all that begin so."""
import argparse
import fnmatch
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

from searches import OVERHEAD_S, ROOT, Node, Rows, add_options, seconds

TASKS = ROOT / "rewriters/schedules/tasks"
TIMING_S = 12  # of a row, beside its search
NOT_TIMED = "no times"
PRODUCTS = [  # of bf16, rows x columns x k, as 20 shapes that fit no tile
    "16x4096x4096", "64x4096x4096", "128x4096x4096", "256x4096x4096", "16x8192x8192", "64x11008x4096", "128x14336x4096",
    "256x8192x8192", "8192x64x8192", "48x4096x11008", "333x776x4096", "100x30000x512", "1000x1000x1000", "5000x120x5000",
    "3000x3000x3000", "2047x2049x4096", "1111x2222x3333", "4095x4095x4095", "4095x4095x4095_nt", "1023x4095x1000_nt",
]  # fmt: skip
NT = [('["K", "N"]', '["N", "K"]'), ("B[k * N + col]", "B[col * K + k]"), ("torch.matmul(A, B)", "torch.matmul(A, B.T)")]
LARGE = ["4096x4096x4096", "8192x8192x8192"]
TO_BF16 = [("__half2float", "__bfloat162float"), ("__float2half", "__float2bfloat16"), ("__half", "__nv_bfloat16"),
           ("cuda_fp16", "cuda_bf16"), ('"f16"', '"bf16"')]  # fmt: skip


def with_sizes(text, name, sizes):
    text = re.sub(r'"name": "[a-z0-9_]+"', f'"name": "{name}"', text, count=1)
    return re.sub(r'"sizes": \{[^}]*\}', f'"sizes": {json.dumps(sizes)}', text, count=1)


def product(name, element, shape):
    """A naive product of 16 bits; `_nt`: B is stored as its columns."""
    text = (TASKS / "matmul_bf16_8192.cu").read_text()
    m, n, k = map(int, shape.removesuffix("_nt").split("x"))
    for now, then in NT if shape.endswith("_nt") else []:
        assert now in text, now
        text = text.replace(now, then)
    for half, bfloat in TO_BF16 if element == "f16" else []:
        text = text.replace(bfloat, half)
    return with_sizes(text, name, {"M": m, "N": n, "K": k})


def attention(name, element, causal, heads, keys, depth):
    text = (TASKS / f"attention_{'causal_' if causal else ''}f16.cu").read_text()
    for half, bfloat in TO_BF16 if element == "bf16" else []:
        text = text.replace(half, bfloat)
    if element == "bf16":
        text = re.sub(r'"tolerance": \{[^}]*\},', "", text)  # that of tasks of bf16
    return with_sizes(text, name, {"HEADS": heads, "SEQ": keys, "DIM": depth})


def rows():
    """Names, and functions that make their tasks' texts."""
    found = {}
    for shape in PRODUCTS:
        found[f"bf16_{shape}"] = lambda name, s=shape: product(name, "bf16", s)
    for element in ("bf16", "f16"):
        for shape in LARGE:
            found[f"{element}_{shape}"] = lambda name, e=element, s=shape: product(name, e, s)
    for name, file in (("tf32x3_4096x4096x4096", TASKS / "matmul_4096_tf32x3.cu"),
                       ("e4m3_8192x8192x8192", next((ROOT / "baselines/matmul_fp8_e4m3").glob("*.cu")))):  # fmt: skip
        found[name] = lambda name, f=file: re.sub(r'"name": "[a-z0-9_]+"', f'"name": "{name}"', f.read_text(), count=1)
    for heads, keys in ((32, 4096), (64, 4096), (4, 16384)):
        for element in ("f16", "bf16"):
            for depth in (128, 64):
                for causal in (False, True):
                    name = f"attention_{element}_{heads}x{keys}x{depth}{'_causal' if causal else ''}"
                    found[name] = lambda name, a=(element, causal, heads, keys, depth): attention(name, *a)
    return found


def timed(task_file, candidate, db, hone_binary):
    """In a process of its own: medians [us] by side, and hone's difference."""
    sys.path.insert(0, str(ROOT / "baselines"))
    import torch
    import torch_baseline
    from torch.nn.attention import SDPBackend, sdpa_kernel

    import hone

    device = torch.device("cuda:0")
    task = torch_baseline.describe(hone_binary, task_file)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    generator = torch.Generator(device=device).manual_seed(1)
    inputs = [b for b in task["buffers"] if b["role"] == "in"]
    buffers = [torch_baseline.make(b, device, generator) for b in inputs]
    scope = {"torch": torch}
    exec(f"def expression({', '.join(b['name'] for b in inputs)}):\n  return ({task['torch']})\n", scope)
    operator = hone.load(candidate, db=db)
    sides = {"hone": lambda: operator(*buffers)}

    def by(backend):
        def run():
            with sdpa_kernel(backend):
                return scope["expression"](*buffers)

        return run

    if "scaled_dot_product" in task["torch"]:
        kinds = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention": SDPBackend.FLASH_ATTENTION,
                 "efficient": SDPBackend.EFFICIENT_ATTENTION}  # fmt: skip
        sides |= {name: by(backend) for name, backend in kinds.items()}
    else:
        sides["cuBLAS"] = lambda: scope["expression"](*buffers)
    with torch.no_grad():
        found = {}
        for name in list(sides):
            try:
                for _ in range(3):
                    found[name] = sides[name]().double()
            except RuntimeError as failure:  # a backend that does not take these shapes
                print(f"{name}: {failure}".splitlines()[0], file=sys.stderr)
                del sides[name]
        truth = next(answer for name, answer in found.items() if name != "hone")
        error = ((found["hone"].reshape(truth.shape) - truth).abs().max() / truth.square().mean().sqrt()).item()
        del found, truth
        timer = torch_baseline.Timer(device)
        flushes = {name: timer.flushes_for(run) for name, run in sides.items()}
        taken = {name: [] for name in sides}
        order = list(sides)
        for turn in range(31):
            random.shuffle(order)
            for name in order:
                us = timer.between(sides[name], flushes[name])
                if turn:
                    taken[name].append(us)
    return {"us": {name: statistics.median(times) for name, times in taken.items()}, "samples_us": taken, "error": error}


def line(row):
    if row["status"] != 0:
        return f"{row['task']:40} ended with {row['status']}: see its log"
    them = {name: us for name, us in row["us"].items() if name != "hone"}
    best = min(them, key=them.get)
    return (f"{row['task']:40} {best:>14} {them[best]:9.1f} us  hone {row['us']['hone']:9.1f} us  ratio {row['ratio']:5.2f}  "
            f"error {row['error']:.0e}  {row['evaluated']} evaluated")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--budget", type=seconds, default="25s", help="of each search")
    parser.add_argument("--rows", nargs="+", default=["*"])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--again", action="store_true", help="time what was found once more, without a search")
    parser.add_argument("--timed", nargs=3, help=argparse.SUPPRESS)
    if "--list" in sys.argv:
        print("\n".join(rows()))
        return
    options = parser.parse_args()
    if options.timed:
        print(json.dumps(timed(*options.timed, options.hone)))
        return
    wanted = [name for name in rows() if any(fnmatch.fnmatch(name, pattern) for pattern in options.rows)]
    if not wanted:
        parser.error(f"no row is called {' or '.join(options.rows)}; --list prints their names")
    node = Node(options)
    known = Rows(node)
    done = {row["task"]: row for row in known.rows if row["status"] == 0}
    searched = {row["task"]: row for row in known.rows if row["status"] in (0, NOT_TIMED)}

    def work(name, gpu):
        task = node.out / f"{name}.task.cu"
        task.write_text(rows()[name](name))
        row = dict(searched.get(name) or node.search(task, gpu, options.budget, name, keep=node.out / f"{name}.db"))
        row["task"] = name
        if row["status"] not in (0, NOT_TIMED):
            return row
        document = json.loads((node.out / f"{name}.json").read_text())
        if not document.get("best"):
            return {**row, "status": "nothing faster than the naive kernel"}
        devices = os.environ.get("CUDA_VISIBLE_DEVICES")
        device = devices.split(",")[gpu] if devices else str(gpu)
        arguments = [sys.executable, __file__, "--hone", options.hone, "--out", options.out, "--timed", str(task),
                     document["best"]["candidate"], str(node.out / f"{name}.db")]  # fmt: skip
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": device, "HONE_BINARY": options.hone}
        with open(node.out / f"{name}.log", "a") as log:
            timing = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        if timing.returncode != 0:
            return {**row, "status": NOT_TIMED}
        row |= {"status": 0} | json.loads(timing.stdout.splitlines()[-1])
        row["ratio"] = min(us for side, us in row["us"].items() if side != "hone") / row["us"]["hone"]
        return row

    def tell(row):
        known.add(row, "task")
        print(line(row), flush=True)

    if options.again:
        wanted = [name for name in wanted if name in done]
        node.each(wanted, TIMING_S, work, tell)
    else:
        for name in wanted:
            if name in done:
                print(line(done[name]), flush=True)
        missing = [name for name in wanted if name not in done]
        node.each(missing, float(options.budget[:-1]) + OVERHEAD_S + TIMING_S, work, tell)
    ratios = [row["ratio"] for row in known.rows if row["task"] in wanted and row["status"] == 0]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} of {len(wanted)} rows: geometric mean {mean:.3f}, least {min(ratios):.3f}")
    sys.exit(0 if len(ratios) == len(wanted) else 1)


if __name__ == "__main__":
    main()
