#!/usr/bin/env python3
"""Exports candidates in every form, builds and runs each, and compares with an independent reference.

By hand, on a machine with a GPU, nvcc, g++, PyTorch and CuPy (a form whose tools are missing is
said to be skipped):

    tests/gpu/exports.py --hone build/release/bin/hone --tasks softmax,matmul,attention,histogram,variance,global_sum \\
        --budget 15s -o results.json

For each task it searches on the device, exports the best candidate and runs every form on random
inputs at the task's sizes, and at another size: `hpp`, `torch` and `cupy` run the reference there, `cu`
has to refuse it. What is right comes from the task's "torch" expression in double precision, or
without one from the reference's kernels, which this script launches through CuPy by itself.

Times are medians of 50 by CUDA events, with a cold L2 as hone's own: a large buffer is written before
each, for long enough that nothing of the host is counted. Prints a Markdown table; exit status 1 where
a form is wrong. `--dry` leaves out whatever needs a GPU (search on emu:sm_90, export, build, import).
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "baselines"))
from torch_baseline import STRUCTURED, structured  # noqa: E402

RUNS = 50
FLUSH_BYTES = 256 << 20
FLUSHES = 6  # about half a millisecond: longer than Python needs to queue a launch
TYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "i32": torch.int32, "i64": torch.int64, "i8": torch.int8, "u8": torch.uint8,
    "u32": torch.uint32, "u64": torch.uint64, "bool": torch.bool,
}  # fmt: skip

MAIN = pathlib.Path(__file__).with_name("exports_main.cu.in")


def value_of(expression, sizes):
    """A size expression of a task; sizes and what comes of them are positive."""
    text = str(expression).replace("/", "//").replace("&&", " and ").replace("||", " or ")
    known = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b), "__builtins__": {}}
    return int(eval(text, known, dict(sizes)))


def find_nvcc():
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if home and pathlib.Path(home, "bin", "nvcc").exists():
            return str(pathlib.Path(home, "bin", "nvcc"))
    return shutil.which("nvcc")


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
    return done.stdout


class Case:
    """A task, its exported best candidate, and data at its sizes."""

    def __init__(self, options, name, folder):
        self.options = options
        self.name = name
        self.folder = pathlib.Path(folder)
        self.gpu = not options.dry
        self.where = torch.device(options.device if self.gpu else "cpu")
        path = pathlib.Path(name)
        if not path.exists():
            path = ROOT / "baselines" / name / f"{name}.cu"
        database = self.folder / "hone.db"
        device = options.device if self.gpu else "emu:sm_90"
        budget = options.budget if self.gpu else "6"
        began = time.monotonic()
        found = json.loads(
            run([options.hone, "optimize", path, "--device", device, "--budget", budget,
                 "--db", database, "--json", "-"])
        )  # fmt: skip
        self.search_s = time.monotonic() - began
        best = found["best"]
        self.candidate = best["candidate"]
        self.claimed_us = best["time_us"]
        self.files = {}
        for form, suffix in (("cu", "cu"), ("hpp", "hpp"), ("torch", "py"), ("cupy", "py"), ("json", "json")):
            self.files[form] = self.folder / f"exported_{form}.{suffix}"
            run([options.hone, "export", self.candidate, "--format", form, "--db", database,
                 "-o", self.files[form]])  # fmt: skip
        document = json.loads(self.files["json"].read_text())
        self.task = document["task"]
        self.program = self.task["reference"]
        self.buffers = [b for b in self.program["buffers"] if b["role"] != "scratch"]
        self.sizes = dict(sorted(self.task["sizes"].items()))
        # The last check size is the odd one.
        self.other = dict(self.sizes, **(self.task["check_sizes"] or [{}])[-1])
        self.bindings = {
            k: int(v) for k, v in self.program["defines"].items() if re.fullmatch(r"-?\d+", v)
        }

    def shape(self, buffer, sizes):
        return [value_of(extent, {**self.bindings, **sizes}) for extent in buffer["shape"]]

    def inputs(self, sizes, seed):
        """By name, of the fills' distributions. A file's contents are not here: uniform."""
        generator = torch.Generator(device=self.where).manual_seed(seed)
        wide = {"generator": generator, "device": self.where}
        result = {}
        for buffer in self.buffers:
            if buffer["role"] == "out":
                continue
            shape, dtype = self.shape(buffer, sizes), TYPES[buffer["type"]]
            fill = buffer["fill"]
            kind, value = (fill, None) if isinstance(fill, str) else next(iter(fill.items()))
            bound = {**self.bindings, **sizes}
            number = lambda v, bound=bound: value_of(v, bound) if isinstance(v, str) else v
            if kind != "file":
                value = [number(v) for v in value] if isinstance(value, list) else number(value)
            if kind in STRUCTURED:
                low, high = value or (0, 0)
                result[buffer["name"]] = structured(kind, low, high, shape, dtype, wide).contiguous()
                continue
            if kind == "constant":
                data = torch.full(shape, value, device=self.where, dtype=torch.float64)
            elif kind == "normal":
                data = torch.randn(shape, **wide) * value[1] + value[0]
            elif kind == "integers":
                data = torch.randint(int(value[0]), int(value[1]) + 1, shape, **wide)
            elif kind == "iota":
                count = torch.arange(int(torch.Size(shape).numel()), device=self.where)
                data = (count * value[1] + value[0]).reshape(shape)
            elif dtype.is_floating_point:
                low, high = value if kind == "uniform" else (-1, 1)
                data = torch.rand(shape, **wide) * (high - low) + low
            else:
                data = torch.randint(0, 101, shape, **wide)
            result[buffer["name"]] = data.to(dtype).contiguous()
        return result

    def expected(self, inputs, sizes):
        """What each output has to be, in the task's order of buffers."""
        if self.task.get("torch"):
            outputs = [b for b in self.buffers if b["role"] in ("out", "inout")]
            scope = {"torch": torch, "F": torch.nn.functional}
            for double in (True, False):
                values = {
                    k: v.double() if double and v.dtype.is_floating_point else v.clone()
                    for k, v in inputs.items()
                }
                try:
                    value = eval(self.task["torch"], scope | values)
                    break
                except torch.OutOfMemoryError:
                    if not double:
                        raise
                    torch.cuda.empty_cache()
            values = list(value) if isinstance(value, tuple) else [value]
            if len(values) != len(outputs):
                raise RuntimeError("the torch expression gives another number of outputs")
            return [v.reshape(self.shape(b, sizes)) for v, b in zip(values, outputs)]
        return self.expected_of_kernels(inputs, sizes)

    def expected_of_kernels(self, inputs, sizes):
        """The reference's own kernels, through CuPy, with the parameters' types as the source has them."""
        import cupy
        import numpy

        names = tuple(dict.fromkeys(launch["kernel"] for launch in self.program["launches"]))
        source = "".join(f"#define {k} {v}\n" for k, v in self.program["defines"].items())
        module = cupy.RawModule(
            code=source + self.program["source"], options=("--std=c++20",), name_expressions=names
        )
        at = {**self.bindings, **sizes}
        arrays = {}
        for buffer in self.program["buffers"]:
            if buffer["name"] in inputs:
                tensor = inputs[buffer["name"]].clone()
            else:
                tensor = torch.zeros(self.shape(buffer, sizes), dtype=TYPES[buffer["type"]], device=self.where)
            arrays[buffer["name"]] = tensor
        torch.cuda.synchronize()
        numbers = {"float": numpy.float32, "double": numpy.float64, "unsigned": numpy.uint32,
                   "int64_t": numpy.int64, "long": numpy.int64, "size_t": numpy.uint64}  # fmt: skip
        for launch in self.program["launches"]:
            base = launch["kernel"].split("<")[0].split("::")[-1]
            text = re.search(rf"\b{base}\s*\(([^)]*)\)", self.program["source"]).group(1)
            arguments = []
            for argument, parameter in zip(launch["args"], text.split(",")):
                if argument in arrays:
                    arguments.append(numpy.uint64(arrays[argument].data_ptr()))
                    continue
                words = re.findall(r"\w+", parameter)
                number = next((numbers[w] for w in words if w in numbers), numpy.int32)
                arguments.append(number(argument if isinstance(argument, float) else value_of(argument, at)))
            three = [[value_of(e, at) for e in launch[k]] + [1, 1] for k in ("grid", "block")]
            module.get_function(launch["kernel"])(
                tuple(three[0][:3]), tuple(three[1][:3]), tuple(arguments),
                shared_mem=value_of(launch["shared_bytes"], at),
            )  # fmt: skip
        cupy.cuda.Device().synchronize()
        return [arrays[b["name"]] for b in self.buffers if b["role"] in ("out", "inout")]

    def compare(self, got, want):
        """(largest error relative to max(|want|, rms), within the tolerance?), as hone judges."""
        worst, fine = 0.0, True
        tolerance = self.task["tolerance"]
        for g, w in zip(got, want, strict=True):
            g, w = g.double(), w.to(g.device).double()
            if g.shape != w.shape or not torch.isfinite(g).all():
                return float("inf"), False
            rms = w.square().mean().sqrt()
            scale = torch.maximum(w.abs(), rms)
            difference = (g - w).abs()
            relative = torch.where(difference == 0, 0.0, difference / scale)
            worst = max(worst, float(relative.max()))
            fine &= bool((difference <= tolerance["atol"] + tolerance["rtol"] * scale).all())
        return worst, fine


class CppForm:
    """cu or hpp in a program of its own, which starts to be built at once."""

    def __init__(self, case, form, nvcc, arch):
        self.case, self.form = case, form
        text = case.files[form].read_text()
        if form == "cu":
            function = re.search(r"^cudaError_t (\w+_launch_*)\(", text, re.M).group(1)
        else:
            function = re.search(r"^namespace (hone_\w+) \{", text, re.M).group(1) + "::launch"
        types = {"f32": "float", "f64": "double", "f16": "__half", "bf16": "__nv_bfloat16", "i32": "int",
                 "i64": "long long", "i8": "signed char", "u8": "unsigned char", "u32": "unsigned int",
                 "u64": "unsigned long long", "bool": "bool"}  # fmt: skip
        arguments = [f"static_cast<{types[b['type']]}*>(device[{i}])" for i, b in enumerate(case.buffers)]
        arguments += [f"size[{i}]" for i in range(len(case.sizes))] + ["stream"]
        main = MAIN.read_text()
        for key, value in {
            "FILE": case.files[form].name,
            "ROLES": ", ".join(f'"{b["role"]}"' for b in case.buffers),
            "BUFFERS": len(case.buffers),
            "SIZES": len(case.sizes),
            "LAUNCH": function,
            "ARGUMENTS": ", ".join(arguments),
            "FLUSH_BYTES": FLUSH_BYTES,
            "FLUSHES": FLUSHES,
        }.items():
            main = main.replace(f"@{key}@", str(value))
        source = case.folder / f"main_{form}.cu"
        source.write_text(main)
        self.program = case.folder / f"main_{form}"
        self.build = subprocess.Popen(
            [nvcc, "-std=c++20", "-O3", f"-arch={arch}", "--expt-relaxed-constexpr", "-o", self.program, source],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.output = None

    def finish(self):
        if self.output is None:
            self.output, _ = self.build.communicate(timeout=300)

    def wait(self):
        self.finish()
        if self.build.returncode != 0:
            raise RuntimeError(f"nvcc: {self.output[-3000:]}")

    def __call__(self, inputs, sizes, runs):
        """(outputs or None where it refused the sizes, time in microseconds)"""
        case = self.case
        command = [self.program, case.folder, runs]
        for i, buffer in enumerate(case.buffers):
            shape, dtype = case.shape(buffer, sizes), TYPES[buffer["type"]]
            command.append(torch.Size(shape).numel() * dtype.itemsize)
            if buffer["role"] != "out":
                path = case.folder / f"{i}.in"
                inputs[buffer["name"]].cpu().view(torch.uint8).numpy().tofile(path)
        said = run(list(map(str, command + list(sizes.values()))), timeout=120).strip()
        if said == "refused":
            return None, 0.0
        outputs = []
        for i, buffer in enumerate(case.buffers):
            if buffer["role"] == "in":
                continue
            dtype = TYPES[buffer["type"]]
            data = bytearray((case.folder / f"{i}.out").read_bytes())
            outputs.append(
                torch.frombuffer(data, dtype=dtype).reshape(case.shape(buffer, sizes)).to(case.where)
            )
        return outputs, float(said)


def load(path):
    spec = importlib.util.spec_from_file_location(f"exported_{abs(hash(str(path)))}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = re.findall(r"^def ([A-Za-z]\w*)\(", path.read_text(), re.M)[-1]
    return module, getattr(module, function)


class PythonForm:
    """What torch and cupy have in common: the arguments, and which results are outputs."""

    def __init__(self, case, function, given):
        self.case, self.function, self.given = case, function, given

    def call(self, arrays, sizes):
        """Runs once; the outputs in the task's order of buffers."""
        positional = [arrays[b["name"]] for b in self.case.buffers if b["role"] != "out"]
        parameters = {}
        for name in self.given:  # a word of Python has a '_' behind
            parameters[name] = sizes[name if name in sizes else name.rstrip("_")]
        returned = self.function(*positional, **parameters)
        returned = list(returned) if isinstance(returned, tuple) else [returned]
        outputs = []
        for buffer in self.case.buffers:
            if buffer["role"] == "out":
                outputs.append(returned.pop(0))
            elif buffer["role"] == "inout":
                outputs.append(arrays[buffer["name"]])
        return outputs


def given_sizes(function):
    code = function.__code__
    return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]


class TorchForm(PythonForm):
    def __init__(self, case, compiled):
        _, function = load(case.files["torch"])
        given = given_sizes(function)
        if compiled:
            function = torch.compile(function, fullgraph=True)
        super().__init__(case, function, given)

    def __call__(self, inputs, sizes, runs):
        outputs = self.call({k: v.clone() for k, v in inputs.items()}, sizes)
        torch.cuda.synchronize()
        flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=self.case.where)
        arrays = {k: v.clone() for k, v in inputs.items()}
        times = []
        for i in range(runs + 3 if runs else 0):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            for k in range(FLUSHES):
                flush.fill_(k)
            begin.record()
            self.call(arrays, sizes)
            end.record()
            torch.cuda.synchronize()
            if i >= 3:
                times.append(1000 * begin.elapsed_time(end))
        return outputs, statistics.median(times) if times else 0.0


class CupyForm(PythonForm):
    def __init__(self, case):
        _, function = load(case.files["cupy"])
        super().__init__(case, function, given_sizes(function))

    def __call__(self, inputs, sizes, runs):
        import cupy

        def arrays_of(tensors):
            result = {}
            for name, tensor in tensors.items():
                # bfloat16 as its bits
                tensor = tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor
                result[name] = cupy.from_dlpack(tensor).copy()
            return result

        torch.cuda.synchronize()
        with cupy.cuda.Device(self.case.where.index or 0):
            outputs = self.call(arrays_of(inputs), sizes)
            cupy.cuda.Device().synchronize()
            wanted = [TYPES[b["type"]] for b in self.case.buffers if b["role"] != "in"]
            tensors = []
            for output, dtype in zip(outputs, wanted, strict=True):
                tensor = torch.from_dlpack(output).clone()
                tensors.append(tensor.view(dtype) if dtype == torch.bfloat16 else tensor)
            flush = cupy.empty(FLUSH_BYTES, dtype=cupy.uint8)
            arrays = arrays_of(inputs)
            times = []
            for i in range(runs + 3 if runs else 0):
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                for k in range(FLUSHES):
                    flush.fill(k)
                begin.record()
                self.call(arrays, sizes)
                end.record()
                end.synchronize()
                if i >= 3:
                    times.append(1000 * cupy.cuda.get_elapsed_time(begin, end))
            return tensors, statistics.median(times) if times else 0.0


def examine(case, form, make, expected, expected_other):
    """One row: a form at the task's sizes and at another."""
    row = {"task": case.name, "form": form, "hone_us": case.claimed_us, "candidate": case.candidate}
    try:
        call = make()
        if hasattr(call, "wait"):
            call.wait()
        if not case.gpu:
            row["note"] = "built only" if hasattr(call, "wait") else "imported only"
            return row
        inputs, want = expected
        got, row["time_us"] = call(inputs, case.sizes, RUNS)
        if got is None:
            raise RuntimeError("refused the sizes that it was made for")
        row["max_rel_error"], row["ok"] = case.compare(got, want)
        inputs, want = expected_other
        got, _ = call(inputs, case.other, 0)
        if form == "cu":
            row["fallback"] = "refuses" if got is None else "no"
        elif got is None:
            row["fallback"] = "no"
        else:
            row["fallback_error"], fine = case.compare(got, want)
            row["fallback"] = "yes" if fine else "no"
    except ImportError as error:
        row["note"] = f"skipped: {error}"
    except Exception as error:  # one form's failure is a line of the table
        row["ok"] = False
        row["note"] = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    return row


def table(rows):
    lines = ["| task | form | max rel. error | time | hone's time | fallback ok |",
             "| --- | --- | ---: | ---: | ---: | --- |"]  # fmt: skip
    for row in rows:
        if "time_us" in row and "max_rel_error" in row:
            error = f"{row['max_rel_error']:.1e}" + ("" if row["ok"] else " WRONG")
            time_us = f"{row['time_us']:.2f} us"
        else:
            error, time_us = row.get("note", "failed").splitlines()[0][:80].replace("|", "/"), ""
        hone = f"{row['hone_us']:.2f} us" if "hone_us" in row else ""
        lines.append(f"| {row['task']} | {row['form']} | {error} | {time_us} | {hone} | {row.get('fallback', '')} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/release/bin/hone"))
    parser.add_argument("--tasks", default="softmax,matmul,attention,histogram,variance,global_sum")
    parser.add_argument("--budget", default="15s", help="of each search")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("-o", "--output", help="JSON with all rows")
    parser.add_argument("--keep", help="a folder for what is exported and built")
    parser.add_argument("--dry", action="store_true", help="leave out whatever needs a GPU")
    options = parser.parse_args()
    options.hone = str(pathlib.Path(options.hone).resolve())
    nvcc = find_nvcc()
    arch = "sm_90"
    if not options.dry:
        torch.cuda.set_device(options.device)
        major, minor = torch.cuda.get_device_capability(options.device)
        arch = f"sm_{major}{minor}{'a' if major >= 9 else ''}"  # as hone compiles
        # What is right is computed in double; these are for an expression that has to do without.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False

    began = time.monotonic()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.tasks.split(","):
            folder = pathlib.Path(options.keep or scratch, pathlib.Path(name).stem)
            folder.mkdir(parents=True, exist_ok=True)
            try:
                case = Case(options, name, folder)
                # nvcc builds while Python runs.
                builds = {f: CppForm(case, f, nvcc, arch) for f in ("cu", "hpp")} if nvcc else {}
                expected = []
                for sizes, seed in ((case.sizes, 1), (case.other, 2)):
                    if not case.gpu:
                        sizes = case.other  # small enough for a CPU
                    inputs = case.inputs(sizes, seed)
                    expected.append((inputs, case.expected(inputs, sizes)))
            except Exception as error:
                traceback.print_exc()
                rows.append({"task": name, "form": "all", "ok": False, "note": str(error)})
                continue
            # Before anything is timed: a compiler beside it would be in the way.
            for build in builds.values():
                build.finish()
            forms = {
                "torch": lambda: TorchForm(case, compiled=False),
                "torch.compile": lambda: TorchForm(case, compiled=True),
                "cupy": lambda: CupyForm(case),
            }
            for form in ("cu", "hpp"):
                if form in builds:
                    rows.append(examine(case, form, lambda: builds[form], *expected))
                else:
                    rows.append({"task": name, "form": form, "note": "skipped: no nvcc"})
            for form, make in forms.items():
                rows.append(examine(case, form, make, *expected))
            print(f"{name}: done after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            del expected
            if case.gpu:
                torch._dynamo.reset()
                torch.cuda.empty_cache()

    print(table(rows))
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(rows, indent=2) + "\n")
    wrong = [r for r in rows if r.get("ok") is False or r.get("fallback") == "no"]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
