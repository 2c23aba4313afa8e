#!/usr/bin/env python3
"""What the first guesses of generate-contract reach on a GPU, without a search, beside PyTorch's products (cuBLAS).

    tests/bench/products.py [--variant build/release/bin/contract_variant] [--type bf16] [--layout NN] [--starts 6]
                            [--math reassociate] [--arch 90a] MxNxK...

Each guess is compiled by nvcc and timed alone, ten launches in a CUDA graph, the best of six rounds; so is torch.mm, in the same
run. Operands stay in the L2 where they fit. A row: cuBLAS [us], the best guess [us], cuBLAS over it, the root mean square of its
errors over that of the products, and all guesses. PyTorch does f32 without TF32; what hone may do --math says.

8-bit floats (--type e4m3, e5m2xe4m3, e4m3xe5m2; --layout NT) give bf16. Beside them is torch._scaled_mm, which is cuBLASLt, with
scales of 1 and use_fast_accum as --math says: at `reassociate` off, as hone adds up runs of 128 products in f32 then; at
`reduced` on, as some of hone's guesses add all in the tensor cores. `--starts 16` has the guesses of both levels at `reduced`.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile


def made(options, folder, shape, start):
    """The guess as a program, or None where there is no such guess."""
    source = folder / f"{shape}_{start}.cu"
    text = subprocess.run([options.variant, *shape.split("x"), options.type, options.layout, options.math, f"start={start}"],
                          capture_output=True, text=True, check=False)
    if "there are" in text.stderr and text.returncode != 0:
        return None
    if text.returncode != 0:
        raise SystemExit(f"{shape}, guess {start}: {text.stderr.strip() or text.returncode}")
    source.write_text(text.stdout)
    program = source.with_suffix("")
    subprocess.run(["nvcc", "-w", "-std=c++20", "-O3", f"-gencode=arch=compute_{options.arch},code=sm_{options.arch}", source,
                    "-o", program], check=True)
    return program


def timed(program):
    try:
        said = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False).stdout
    except subprocess.TimeoutExpired:
        return float("inf"), "not ended after 120 s", ""
    found = re.search(r"\((.*)\): ([\d.]+) us.*relative error (\S+) \(rms", said)
    if not found:
        return float("inf"), said.strip(), ""
    point = dict(pair.split("=") for pair in found[1].split(","))
    keys = ("pipe", "bm", "bn", "stages", "share", "cluster")
    return float(found[2]), " ".join(point[k] for k in keys if k in point), found[3]


def cublas_us(options, shape):
    import torch
    rows, columns, depth = map(int, shape.split("x"))
    kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}.get(options.type)
    if kind is None:
        return us_of(scaled_product(options, rows, columns, depth))
    torch.backends.cuda.matmul.allow_tf32 = False
    a = torch.rand(depth, rows, device="cuda", dtype=kind).t() if options.layout[0] == "T" else torch.rand(
        rows, depth, device="cuda", dtype=kind)
    b = torch.rand(columns, depth, device="cuda", dtype=kind).t() if options.layout[1] == "T" else torch.rand(
        depth, columns, device="cuda", dtype=kind)
    a, b = a * 2 - 1, b * 2 - 1
    out = torch.empty(rows, columns, device="cuda", dtype=kind)
    return us_of(lambda: torch.mm(a, b, out=out))


def scaled_product(options, rows, columns, depth):
    """torch._scaled_mm of 8-bit floats, both with k along the rows, as a call."""
    import torch
    kinds = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    types = (options.type.split("x") * 2)[:2]
    a = (torch.rand(rows, depth, device="cuda") * 2 - 1).to(kinds[types[0]])
    b = (torch.rand(columns, depth, device="cuda") * 2 - 1).to(kinds[types[1]])
    one = torch.ones((), device="cuda")
    out = torch.empty(rows, columns, device="cuda", dtype=torch.bfloat16)
    return lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16,
                                    use_fast_accum=options.math == "reduced", out=out)


def us_of(run):
    """One run [us]: ten in a CUDA graph, the best of six rounds."""
    import torch
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            run()
    best = float("inf")
    for _ in range(6):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) * 100)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shapes", nargs="+", metavar="MxNxK")
    parser.add_argument("--variant", default="build/release/bin/contract_variant")
    parser.add_argument("--type", default="bf16", choices=("bf16", "f16", "f32", "e4m3", "e4m3xe5m2", "e5m2xe4m3"))
    parser.add_argument("--layout", default="NN", choices=("NN", "NT", "TN", "TT"))
    parser.add_argument("--math", default="reassociate")
    parser.add_argument("--starts", type=int, default=6, help="first guesses of each shape")
    parser.add_argument("--arch", default="90a")
    options = parser.parse_args()
    if options.type.startswith("e") and options.layout != "NT":
        parser.error("cuBLASLt multiplies 8-bit floats with --layout NT only")
    options.variant = str(pathlib.Path(options.variant).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            programs = {shape: [pool.submit(made, options, folder, shape, start) for start in range(options.starts)]
                        for shape in options.shapes}
        print("| product | cuBLAS [us] | hone [us] | ratio | error | all |\n| --- | --- | --- | --- | --- | --- |")
        for shape, jobs in programs.items():
            guesses = [timed(job.result()) for job in jobs if job.result()]
            reference = cublas_us(options, shape)
            if not guesses:
                print(f"| {shape} | {reference:.1f} | - | - | - | no guess |", flush=True)
                continue
            best = min(guesses)
            every = "; ".join(f"{point} {time:.1f}" for time, point, _ in guesses)
            print(f"| {shape} | {reference:.1f} | {best[0]:.1f} | {reference / best[0]:.2f} | {best[2]} | {every} |", flush=True)


if __name__ == "__main__":
    main()
