#!/usr/bin/env python3
"""hone's final times beside triton.testing.do_bench and CUDA events in PyTorch, on the same kernels.

    tests/bench/compare_timers.py --hone build/release/bin/hone

Needs a GPU, PyTorch, Triton and CuPy. The references of some baselines are launched through CuPy on
PyTorch's stream; each timer clears the L2 before every launch. Medians, in microseconds.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile


def launch_of(path):
    """The task's one launch as a function to be timed."""
    import cupy
    import torch

    text = path.read_text()
    comment = re.search(r"/\*\s*hone\s*(\{.*?\})\s*\*/", text, re.S)
    task = json.loads(comment.group(1))
    names = dict(task["sizes"], ceildiv=lambda a, b: -(-a // b), min=min, max=max)

    def value(expression):
        return expression if isinstance(expression, (int, float)) else int(eval(expression.replace("/", "//"), names))

    buffers = {}
    for buffer in task["buffers"]:
        shape = [value(n) for n in buffer["shape"]]
        buffers[buffer["name"]] = torch.rand(shape, device="cuda", dtype=torch.float32) * 2 - 1
    launch = task["launches"][0]
    module = cupy.RawModule(code=text, options=("-std=c++17",), name_expressions=(launch["kernel"],))
    kernel = module.get_function(launch["kernel"])
    grid = tuple(value(n) for n in launch["grid"])
    block = tuple(value(n) for n in launch["block"])
    arguments = []
    for argument in launch["args"]:
        if argument in buffers:
            arguments.append(cupy.from_dlpack(buffers[argument]))
        elif isinstance(argument, float):
            arguments.append(cupy.float32(argument))
        else:
            arguments.append(cupy.int32(value(argument)))
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

    def run():
        with stream:
            kernel(grid, block, tuple(arguments))

    return run


def events(run, samples=100):
    import torch

    cache = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    run()
    pairs = []
    for _ in range(samples):
        cache.zero_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        pairs.append((begin, end))
    torch.cuda.synchronize()
    return statistics.median(1e3 * begin.elapsed_time(end) for begin, end in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default="build/release/bin/hone")
    parser.add_argument("--baselines", default="baselines")
    parser.add_argument("--tasks", default="vector_add,gelu,softmax,row_sum,column_sum,transpose,matmul,layernorm")
    options = parser.parse_args()
    import triton.testing

    print("| kernel | hone [us] | do_bench | PyTorch events |\n| --- | --- | --- | --- |")
    for name in options.tasks.split(","):
        path = pathlib.Path(options.baselines) / name / f"{name}.cu"
        with tempfile.TemporaryDirectory() as folder:
            out = subprocess.run([options.hone, "evaluate", path, path, "--device", "cuda:0", "--db", f"{folder}/db",
                                  "--json", "-"], capture_output=True, text=True).stdout
        ours = json.loads(out)["time_us"]
        run = launch_of(path)
        theirs = 1e3 * triton.testing.do_bench(run, warmup=50, rep=300, return_mode="median")
        torch_us = events(run)
        print(f"| {name} | {ours:.2f} | {theirs:.2f} ({100 * (theirs / ours - 1):+.1f} %) | "
              f"{torch_us:.2f} ({100 * (torch_us / ours - 1):+.1f} %) |", flush=True)


if __name__ == "__main__":
    main()
