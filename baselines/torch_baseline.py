#!/usr/bin/env python3
"""Times a task's PyTorch expression, eager and under torch.compile, as hone times programs.

Usage: baselines/torch_baseline.py TASK.cu [TASK.cu ...] [--device cuda:0] [--json FILE] [--hone BIN]
Then:  hone baseline TASK.cu [TASK.cu ...] --from FILE

What hone reads in a task comes from `hone describe`. As in evaluator/runner/bench_case.cpp: CUDA
events around one evaluation of the whole expression, the L2 flushed by a write before each, all of
it queued on one stream; eager and compiled take turns in random order; reported is the median. The
flush is repeated until it outlasts what Python needs to queue the kernels, so that no time of the
host is counted, as none of hone's is. What the expression allocates comes from PyTorch's pool.
TF32 is off unless the task says "math": "reduced".
"""
import argparse
import ctypes
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

import torch
import torch._dynamo

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES, FEWEST, BUDGET_S = 30, 3, 8.0  # on one set of inputs; candidates get new ones each
TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
         "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "i32": torch.int32, "i64": torch.int64,
         "i8": torch.int8, "u8": torch.uint8, "u32": torch.uint32, "u64": torch.uint64, "bool": torch.bool}


def find_hone():
    for path in (HERE.parent / "build/release/bin/hone", HERE.parent / "bin/hone"):
        if path.exists():
            return str(path)
    return shutil.which("hone") or "hone"


def describe(hone, task):
    run = subprocess.run([hone, "describe", task, "--json", "-"], stdout=subprocess.PIPE, check=False)
    if run.returncode != 0:
        sys.exit(run.returncode)  # hone has said why
    return json.loads(run.stdout)


# Fills of whole rows or matrices; see structured().
STRUCTURED = ("sorted", "permutation", "one_hot", "lower_triangular", "upper_triangular")


def make(buffer, device, generator):
    """First contents by the buffer's fill (candidates/TASK.md); the distribution, not hone's bits."""
    shape, kind, a, b = buffer["shape"], buffer["fill"], buffer["a"], buffer["b"]
    dtype = TYPES[buffer["type"]]
    wide = {"generator": generator, "device": device}
    if kind == "file":
        data = bytearray(pathlib.Path(buffer["path"]).read_bytes())
        count = 1
        for extent in shape:
            count *= extent
        return torch.frombuffer(data, dtype=dtype, count=count).reshape(shape).to(device)
    if kind == "constant":
        return converted(torch.full(shape, a, dtype=torch.float64, device=device), dtype)
    if kind == "iota":
        count = torch.Size(shape).numel()
        return converted((torch.arange(count, device=device, dtype=torch.float64) * b + a).reshape(shape), dtype)
    if kind == "normal":
        real = torch.empty(shape, dtype=torch.float32, device=device).normal_(a, b, generator=generator)
        return converted(real if dtype.is_floating_point else real.round(), dtype)
    if kind in STRUCTURED:
        return structured(kind, a, b, shape, dtype, wide)
    if kind == "integers" or not dtype.is_floating_point:
        return torch.randint(int(a), min(int(b) + 1, 2**63 - 1), shape, **wide).to(dtype)
    real = torch.empty(shape, dtype=torch.float64 if dtype == torch.float64 else torch.float32, device=device)
    return converted(real.uniform_(a, b, generator=generator), dtype)


def converted(real, dtype):
    """As hone's fills are: 8-bit floats saturate, where PyTorch makes NaN or infinity."""
    if dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        limits = torch.finfo(dtype)
        real = real.clamp(limits.min, limits.max)
    return real.to(dtype)


def structured(kind, a, b, shape, dtype, wide):
    """Rows along the last extent, matrices along the last two."""
    draw = torch.rand(shape, dtype=torch.float64, **wide)
    if kind == "permutation":
        return draw.argsort(-1).to(dtype)
    if kind == "one_hot":
        return (draw == draw.amax(-1, keepdim=True)).to(dtype)
    if kind == "sorted":
        way = draw.sort(-1).values
        way[..., 0], way[..., -1] = 0, 1
        value = a + (b - a) * way
        return (value if dtype.is_floating_point else value.floor()).to(dtype)
    beside = (2 * draw - 1) / shape[-1]
    half = beside.tril(-1) if kind == "lower_triangular" else beside.triu(1)
    eye = torch.eye(shape[-2], shape[-1], dtype=torch.float64, device=wide["device"])
    return (half + eye * (1 + draw)).to(dtype)


class Timer:
    """One evaluation at a time, between two events, with a cold L2."""

    def __init__(self, device):
        l2 = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)
        self.flush = torch.empty(max(64 << 20, 2 * l2), dtype=torch.uint8, device=device)
        self.begin, self.end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.driver = ctypes.CDLL("libcuda.so.1")
        for _ in range(3):
            self.flush.zero_()
        self.flush_us = min(self.between(lambda: self.flush.zero_(), 1) for _ in range(5))

    def between(self, run, flushes):
        self.driver.cuCtxResetPersistingL2Cache()  # lines that a kernel asked to be kept, as hone does
        for _ in range(flushes):
            self.flush.zero_()
        self.begin.record()
        result = run()
        self.end.record()
        self.end.synchronize()
        del result
        return 1e3 * self.begin.elapsed_time(self.end)

    def flushes_for(self, run):
        """So many that the GPU is busy with them for twice as long as the host queues `run`."""
        host_us = []
        for _ in range(5):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            run()
            host_us.append(1e6 * (time.perf_counter() - begin))
        torch.cuda.synchronize()
        return 1 + min(20, int(2 * statistics.median(host_us) / self.flush_us))


def reason(error):
    return (str(error).splitlines() or [type(error).__name__])[0]


def check_shape(result, outputs):
    """One tensor for one output buffer: the same number of elements, and of which type."""
    if len(outputs) != 1 or not isinstance(result, torch.Tensor):
        return "not compared with the output buffers"
    want = outputs[0]
    if list(result.shape) != want["shape"] and result.numel() != torch.Size(want["shape"]).numel():
        raise ValueError(f"its result is {list(result.shape)}, the output '{want['name']}' is {want['shape']}")
    if result.dtype != TYPES[want["type"]]:
        return f"its result is {result.dtype}, the output '{want['name']}' is {want['type']}"
    return ""


def measure(task, device, timer):
    """Results of one task: one for each kind, with samples or an error."""
    entry = {"task": task["task"], "task_hash": task["task_hash"]}
    kinds = ("torch eager", "torch.compile")
    if not task["torch"]:
        return [{**entry, "kind": kind, "error": "the task has no \"torch\""} for kind in kinds]
    inputs = [b for b in task["buffers"] if b["role"] in ("in", "inout")]
    outputs = [b for b in task["buffers"] if b["role"] in ("out", "inout")]
    reduced = task["math"] == "reduced"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = reduced
    types = sorted({b["type"] for b in inputs})
    precision = "tf32" if reduced and "f32" in types else "+".join(types)
    generator = torch.Generator(device=device).manual_seed(1)
    names = ", ".join(b["name"] for b in inputs)
    # A function of its own, so that torch.compile sees arguments and no globals.
    scope = {"torch": torch, "F": torch.nn.functional}
    exec(f"def expression({names}):\n  return ({task['torch']})\n", scope)  # the task is the user's own
    expression = scope["expression"]
    sides, failed = {}, []
    try:
        with torch.no_grad():
            buffers = [make(b, device, generator) for b in inputs]
            note = check_shape(expression(*buffers), outputs)
    except Exception as error:  # whatever the expression does
        return [{**entry, "kind": kind, "error": reason(error)} for kind in kinds]
    with torch.no_grad():
        want = expression(*buffers)
        for kind in kinds:
            torch._dynamo.reset()
            function = expression if kind == "torch eager" else torch.compile(expression, dynamic=False)
            run = lambda function=function: function(*buffers)
            try:
                begin = time.perf_counter()
                for _ in range(3):
                    result = run()
                torch.cuda.synchronize()
                if isinstance(result, torch.Tensor):
                    rtol, atol = task["tolerance"]["rtol"], task["tolerance"]["atol"]
                    scale = want.double().square().mean().sqrt().item() if want.is_floating_point() else 0
                    if not torch.allclose(result.double(), want.double(), rtol=rtol, atol=atol + rtol * scale):
                        raise ValueError("compiled, it gives another result than eager")
                sides[kind] = {"run": run, "flushes": timer.flushes_for(run), "samples": [],
                               "warm_up_s": time.perf_counter() - begin}
            except Exception as error:
                failed.append({**entry, "kind": kind, "error": reason(error)})
        order, began = list(sides.values()), time.perf_counter()
        for sample in range(-1, SAMPLES):  # the first is the warm-up
            if sample >= FEWEST and time.perf_counter() - began > BUDGET_S:
                break
            random.shuffle(order)
            for side in order:
                us = timer.between(side["run"], side["flushes"])
                if sample >= 0:
                    side["samples"].append(us)
    return [{**entry, "kind": kind, "precision": precision, "time_us": statistics.median(side["samples"]),
             "samples_us": side["samples"], "flushes": side["flushes"], "warm_up_s": round(side["warm_up_s"], 2),
             "note": note} for kind, side in sides.items()] + failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="TASK.cu")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--json", default="", metavar="FILE")
    parser.add_argument("--hone", default=find_hone())
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_baseline: this PyTorch sees no GPU")
    torch.cuda.set_device(arguments.device)
    device = torch.device(arguments.device)
    timer = Timer(device)
    document = {"format": "hone baselines 1", "device": arguments.device,
                "device_name": torch.cuda.get_device_name(device),
                "versions": f"torch {torch.__version__}, CUDA {torch.version.cuda}",
                "method": "events around one evaluation, L2 flushed before each, median of interleaved samples",
                "results": []}
    print(f"{document['device_name']}, {document['versions']}; {document['method']}")
    print(f"{'task':<22}  {'kind':<14}  {'time':>12}  {'samples':>7}  {'precision':<9}  note", flush=True)
    failed = False
    for name in arguments.tasks:
        results = measure(describe(arguments.hone, name), device, timer)
        torch.cuda.empty_cache()
        for r in results:
            if "error" in r:
                failed = True
                print(f"{r['task']:<22}  {r['kind']:<14}  {r['error']}", flush=True)
                continue
            print(f"{r['task']:<22}  {r['kind']:<14}  {r['time_us']:>9.2f} us  {len(r['samples_us']):>7}  "
                  f"{r['precision']:<9}  {r['note']}", flush=True)
        document["results"] += results
        if arguments.json:  # after each task: what was measured is kept
            pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
