#!/usr/bin/env python3
"""What one call of a candidate costs the processor, without a GPU: the driver is that of tests/fakes, which
does next to nothing, and tensors are the CPU's.

    python3 tests/bench/launch_cost.py HONE_BINARY [LAUNCHES]

Prints microseconds a call: the exported file's own launcher (one call of the driver for each kernel, from
Python), the operator of hone.load by PyTorch's dispatcher and without it, the launcher of files that
hone.write makes with machine code, and the C library alone."""
import base64
import contextlib
import ctypes
import os
import pathlib
import sys
import time
import types
import zlib
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import test_launch  # noqa: E402
import torch  # noqa: E402
from hone import _binary, _standalone  # noqa: E402

import hone  # noqa: E402


def task(launches_wanted):
    """A chain of kernels over small buffers, by turns in two scratch buffers."""
    names = ["x", *("st"[i % 2] for i in range(launches_wanted - 1)), "y"]
    launches = ",\n".join(
        f'{{"kernel": "naive", "grid": [1], "block": [64], "args": ["{a}", "{b}", "N"]}}'
        for a, b in zip(names, names[1:])
    )
    buffers = ['{"name": "x", "type": "f32", "shape": ["N"]}']
    for name, role in (("y", "out"), ("s", "scratch"), ("t", "scratch")):
        buffers.append(f'{{"name": "{name}", "type": "f32", "shape": ["N"], "role": "{role}"}}')
    return f"""/* hone {{"name": "chain", "sizes": {{"N": 64}}, "check_sizes": [{{"N": 32}}],
  "buffers": [{", ".join(buffers)}], "launches": [{launches}] }}
*/
__global__ void naive(const float* x, float* y, int n) {{
  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];
}}
"""


def microseconds(function):
    """The best of 400 times 100 calls: short enough that other work on the machine misses some."""
    best = float("inf")
    for _ in range(400):
        begin = time.perf_counter()
        for _ in range(100):
            function()
        best = min(best, (time.perf_counter() - begin) / 100 * 1e6)
    return best


class OnGpu:
    """What the exported file asks of a tensor."""

    def __init__(self, tensor):
        self._tensor, self.device = tensor, torch.device("cuda", 0)
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self.is_contiguous, self.data_ptr = tensor.is_contiguous, tensor.data_ptr
        self.numel, self.element_size = tensor.numel, tensor.element_size


@contextlib.contextmanager
def exported(candidate, x):
    """The exported file's function, with a kernel of the driver's that does nothing."""
    text = _binary.run("export", candidate, "--format", "torch", "--db", test_launch.database())["text"]
    module = types.ModuleType("exported")
    exec(compile(text, "exported.py", "exec"), module.__dict__)
    driver = ctypes.CDLL(os.environ["HONE_LIBCUDA"])
    pointer = ctypes.c_void_p
    driver.cuLaunchKernel.argtypes = [pointer] + [ctypes.c_uint] * 7 + [pointer, pointer, pointer]
    code, function = pointer(), pointer()
    driver.cuModuleLoadData(ctypes.byref(code), b"\x7fELF")
    driver.cuModuleGetFunction(ctypes.byref(function), code, b"hone_read_kernel")
    module._driver = driver
    empty = torch.empty
    with contextlib.ExitStack() as patches:
        for place, name, value in (
            (torch, "empty", lambda shape, dtype, device: empty(shape, dtype=dtype)),
            (torch.cuda, "device", lambda device: contextlib.nullcontext()),
            (torch.cuda, "current_stream", lambda device: types.SimpleNamespace(cuda_stream=0)),
            (module, "_capability", lambda device: 90),
            (module, "_load", lambda program, index, capability: [(function, "PPi")]),
        ):
            patches.enter_context(mock.patch.object(place, name, value))
        yield lambda: module._run([OnGpu(x)], [])


def main(launches):
    test_launch.setUpModule()
    candidate = test_launch.reference_of(task(launches))
    x = torch.ones(64)
    with exported(candidate, x) as function:
        rows = [("the exported file", microseconds(function))]
    operator = hone.load(candidate, db=test_launch.database())
    with test_launch.on_the_cpu():
        assert float(operator(x)[0]) == 2.0**launches
        rows.append(("hone.load, an operator of PyTorch", microseconds(lambda: operator(x))))
        rows.append(("the same without its dispatcher", microseconds(lambda: operator.launch(x))))
    loaded = operator._loaded[None]
    y, scratch = torch.empty(64), torch.empty(operator._plans["sm_90"].scratch_bytes)
    addresses = [x.data_ptr(), y.data_ptr()]
    place = scratch.data_ptr()
    text = base64.b85encode(zlib.compress(operator._plans["sm_90"].bytes)).decode()
    written, cpu = _standalone._HonePlan(text), torch.device("cpu")
    with mock.patch.object(ctypes, "CDLL", return_value=ctypes.CDLL(os.environ["HONE_LIBCUDA"])):
        _standalone._hone_cuda("cuInit", 0)
    rows.append(("a written file's plan", microseconds(lambda: written.launch([x, y], cpu, 0))))
    rows.append(("the C library's call", microseconds(lambda: loaded.launch(addresses, place, 0))))
    for name, value in rows:
        print(f"{name:36}{value:7.2f} us for {launches} launches")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    os.environ["HONE_BINARY"] = os.path.abspath(sys.argv[1])
    main(int(sys.argv[2]) if len(sys.argv) == 3 else 8)
