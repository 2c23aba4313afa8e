#!/usr/bin/env python3
"""KernelBench's modules through `hone import`: do they import, and do they answer what PyTorch answers?

    python3 tests/pytorch/kernelbench.py PATH [--level 1 2 3] [--problems 1-100] [-o FOLDER]
        [--hone build/release/bin/hone] [--device emu:sm_90] [--full] [--no-run] [--jobs 1] [--seconds 300]

PATH is a checkout of KernelBench, or its folder with level1, level2, level3. Needs PyTorch 2.11.

Each module is exported twice. At its own sizes, on the meta device: it must import. And at small
sizes, with numbers: the constants of the file are divided by powers of two as far as the module
still works. There `hone import --verify` runs the program and compares it with the module in f64;
beside it stands the error of PyTorch's own f32 answer, TF32 off. An error is the largest difference, in
root mean squares of the answer. --full takes the module's own sizes for that, on a GPU, and keeps no
recorded numbers; meanwhile FOLDER needs some ten gigabytes for each job. --no-run imports only. --jobs: so many
problems at a time; --seconds: the program's time for one of them. Prints a line for each problem and the counts;
what FOLDER has is not done again, what failed is.
"""
import argparse
import ast
import concurrent.futures
import copy
import glob
import json
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

import torch
from torch.utils.flop_counter import FlopCounterMode

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from record import Recorder, as_bytes  # noqa: E402

warnings.filterwarnings("ignore")
MOST_ELEMENTS = 2_000_000  # of all inputs together, for the emulator
MOST_FLOPS = 2.5e10  # likewise
NOISE = 1e-4  # of an answer in f32
DIVISORS = (4096, 1024, 256, 64, 32, 16, 8, 4, 2, 1)


def divided(source, divisor, inputs_too=False):
    """The file with its large whole constants divided, at least 8; odd ones stay odd. `inputs_too`: also
    the numbers that get_inputs() itself has."""
    tree = ast.parse(source)

    def smaller(value):
        if value <= 8:
            return value
        result = max(8, value // divisor)
        return result | 1 if value % 2 else result - result % 2

    for node in tree.body:
        if inputs_too and isinstance(node, ast.FunctionDef) and node.name == "get_inputs":
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and type(part.value) is int:
                    part.value = smaller(part.value)
        if not isinstance(node, ast.Assign):
            continue
        if isinstance(node.value, ast.BinOp):
            try:
                value = eval(compile(ast.Expression(node.value), "", "eval"), {})
            except Exception:  # names of other constants: these are divided themselves
                continue
            if type(value) is int:
                node.value = ast.Constant(value)
        if isinstance(node.value, ast.Constant) and type(node.value.value) is int:
            node.value = ast.Constant(smaller(node.value.value))
        elif isinstance(node.value, (ast.Tuple, ast.List)):
            for i, entry in enumerate(node.value.elts):
                if isinstance(entry, ast.Constant) and type(entry.value) is int:
                    node.value.elts[i] = ast.Constant(smaller(entry.value))
    return compile(ast.fix_missing_locations(tree), "problem", "exec")


def loaded(code, device):
    """Module and inputs as the benchmark makes them: seeds, train mode."""
    names = {"__name__": "problem"}
    exec(code, names)
    torch.manual_seed(42)
    init = names["get_init_inputs"]()
    model = names["Model"](**init) if isinstance(init, dict) else names["Model"](*init)
    torch.manual_seed(42)
    with torch.device(device):  # gigabytes take a CPU minutes
        inputs = tuple(names["get_inputs"]())
    move = lambda x: x.to(device) if isinstance(x, torch.Tensor) else x
    return model.to(device), tuple(move(x) for x in inputs)


def on_meta(source):
    names = {"__name__": "problem"}
    try:
        with torch.device("meta"):
            exec(compile(source, "problem", "exec"), names)
            init = names["get_init_inputs"]()
            model = names["Model"](**init) if isinstance(init, dict) else names["Model"](*init)
            inputs = names["get_inputs"]()
    except (RuntimeError, NotImplementedError):  # reads numbers while it is made
        exec(compile(source, "problem", "exec"), names)
        init = names["get_init_inputs"]()
        model = names["Model"](**init) if isinstance(init, dict) else names["Model"](*init)
        inputs = names["get_inputs"]()
    move = lambda x: x.to("meta") if isinstance(x, torch.Tensor) else x
    return model.to("meta"), tuple(move(x) for x in inputs)


def exported(model, inputs, path):
    with torch.no_grad():
        program = torch.export.export(model, inputs, strict=False)
    program._example_inputs = None  # as large as the arguments, and of no use in the file
    torch.export.save(program, path)
    return program


def listed(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def error_of(answer, truth):
    if not truth.dtype.is_floating_point:
        return float((answer != truth).float().mean())
    size = truth.pow(2).mean().sqrt()
    return float((answer.double() - truth).abs().max() / size) if size > 0 else 0.0


def recorded(model, inputs, folder):
    """Writes the module and its f64 answers; PyTorch's own error, or none where it draws numbers."""
    for kind in ("inputs", "outputs", "draws"):
        os.makedirs(f"{folder}/{kind}", exist_ok=True)
    wide = copy.deepcopy(model).double()
    program = exported(model, inputs, f"{folder}/module.pt2")
    widened = tuple(x.double() if isinstance(x, torch.Tensor) and x.dtype.is_floating_point else x
                    for x in inputs)
    for i, value in enumerate(x for x in inputs):
        if isinstance(value, torch.Tensor):
            as_bytes(value).tofile(f"{folder}/inputs/{i}.bin")
    with torch.no_grad():
        random = any(word in str(node.target) for node in program.graph.nodes
                     for word in ("dropout", "randn", "aten.rand.", "bernoulli"))
        if random:
            recorder = Recorder(program.module())
            answers = listed(recorder.run(*copy.deepcopy(inputs)))
            truths = [x.double() if x.dtype.is_floating_point else x for x in answers]
            for i, draw in enumerate(recorder.draws):
                as_bytes(draw).tofile(f"{folder}/draws/{i}.bin")
        else:
            answers = listed(model(*copy.deepcopy(inputs)))
            truths = listed(wide(*widened))
    for i, (answer, truth) in enumerate(zip(answers, truths)):
        rounded = truth.to(answer.dtype)
        as_bytes(rounded.contiguous()).tofile(f"{folder}/outputs/{i}.bin")
    return max(error_of(a, t) for a, t in zip(answers, truths))


def hone(binary, *arguments, seconds=None):
    run = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=seconds)
    lines = (run.stdout.strip() or run.stderr.strip()).split("\n")
    return run.returncode, lines[-1]


def small(source, folder):
    """The smallest sizes that work, and where PyTorch's own f32 answer is no noise if there are some:
    a norm over two elements magnifies every error. PyTorch's own error there, or None; then why."""
    reason, noisy, large, tried = "no sizes", None, False, set()
    for inputs_too in (False, True):
        for divisor in DIVISORS:
            try:
                model, inputs = loaded(divided(source, divisor, inputs_too), "cpu")
                if sum(x.numel() for x in inputs if isinstance(x, torch.Tensor)) > MOST_ELEMENTS:
                    break
                with torch.no_grad(), FlopCounterMode(display=False) as counter:
                    copy.deepcopy(model)(*copy.deepcopy(inputs))
                if counter.get_total_flops() > MOST_FLOPS:
                    large = True
                    break
                shapes = str([x.shape for x in (*inputs, *model.parameters()) if isinstance(x, torch.Tensor)])
                if shapes in tried:
                    continue
                tried.add(shapes)
                error = recorded(model, inputs, folder)
                if error <= NOISE:
                    return error, f"constants / {divisor}"
                noisy = noisy or (divisor, inputs_too)
            except Exception as error:  # too small for its windows, groups or heads
                reason = str(error).split("\n")[0][:80]
    if noisy:
        return recorded(*loaded(divided(source, *noisy), "cpu"), folder), f"constants / {noisy[0]}"
    return None, "more than the emulator does in minutes" if large else reason


def outcome(path, name, options):
    """The problem's result, which is then in its folder; or why there is none, a line."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    folder = f"{options.output}/{name}"
    os.makedirs(folder, exist_ok=True)
    try:
        result = one(path, name, folder, options)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:160]}"
    finally:
        if options.full:  # gigabytes
            for kind in ("inputs", "outputs", "draws"):
                shutil.rmtree(f"{folder}/{kind}", ignore_errors=True)
            pathlib.Path(folder, "module.pt2").unlink(missing_ok=True)
            torch.cuda.empty_cache()
    with open(f"{folder}/result.part", "w") as file:
        json.dump(result, file)
    os.replace(f"{folder}/result.part", f"{folder}/result.json")
    return result


def one(path, name, folder, options):
    source = open(path).read()
    result = {"problem": name}
    try:
        exported(*on_meta(source), f"{folder}/meta.pt2")
        status, line = hone(options.hone, "import", f"{folder}/meta.pt2", "-o",
                            f"{folder}/meta.task.cu", "--force")
        result["imports"] = status == 0
        result["said"] = line if status else ""
    except Exception as error:
        result.update(imports=False, said=f"export: {str(error)[:120]}")
    if options.no_run or not result["imports"]:
        return result
    if options.full:
        model, inputs = loaded(compile(source, "problem", "exec"), "cuda")
        result["eager"], result["sizes"] = recorded(model, inputs, folder), "its own"
        del model, inputs
        torch.cuda.empty_cache()
    else:
        result["eager"], result["sizes"] = small(source, folder)
    if result["eager"] is None:
        return result
    status, line = hone(options.hone, "import", f"{folder}/module.pt2", "-o",
                        f"{folder}/module.task.cu", "--force", "--verify", folder, "--device",
                        options.device, seconds=options.seconds)
    result["agrees"] = status == 0
    result["verdict"] = line.replace(f"with {folder} ", "").replace(folder, "").strip()
    # At tiny sizes some answers are noise: a norm over one element, say.
    result["noise"] = status == 1 and "wrong_result" in line and result["eager"] > NOISE
    return result


def tell(result):
    eager = result.get("eager")
    print(result["problem"], "imports" if result["imports"] else f"NOT: {result['said']}",
          result.get("sizes", ""), result.get("verdict", ""),
          f"eager {eager:.1e}" if eager is not None else "", flush=True)


def problems_of(text):
    numbers = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--level", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--problems", default="1-100")
    parser.add_argument("-o", "--output", default="kernelbench_import")
    parser.add_argument("--hone", default="build/release/bin/hone")
    parser.add_argument("--device", default="emu:sm_90")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    root = options.path if os.path.isdir(f"{options.path}/level1") else f"{options.path}/KernelBench"
    results, missing, failed = [], [], 0
    for level in options.level:
        files = {int(os.path.basename(p).split("_")[0]): p for p in glob.glob(f"{root}/level{level}/*.py")}
        for number in sorted(set(files) & problems_of(options.problems)):
            name = f"{level}_{number:03d}"
            known = f"{options.output}/{name}/result.json"
            if os.path.exists(known):
                results.append(json.load(open(known)))
                tell(results[-1])
            else:
                missing.append((files[number], name))
    with concurrent.futures.ProcessPoolExecutor(
        options.jobs, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        running = {pool.submit(outcome, *problem, options): problem[1] for problem in missing}
        for done in concurrent.futures.as_completed(running):
            failure = done.exception()  # its process is gone
            result = done.result() if failure is None else str(failure)
            if isinstance(result, str):
                failed += 1
                print(running[done], "FAILED:", result, flush=True)
            else:
                results.append(result)
                tell(result)
    print(f"{len(results)} problems: {sum(r['imports'] for r in results)} import, "
          f"{sum('agrees' in r for r in results)} were run, "
          f"{sum(r.get('agrees', False) for r in results)} agree, "
          f"{sum(r.get('noise', False) for r in results)} differ where PyTorch's own f32 answer is noise")
    if failed:
        sys.exit(f"{failed} failed; they are tried again the next time")


if __name__ == "__main__":
    main()
