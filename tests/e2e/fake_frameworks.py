"""Stands in for torch, cupy and numpy where an exported module is imported and asked what it would
launch: tests/e2e/export_test.cpp. Tensor maps are encoded by the driver without a GPU (tests/fakes).
Usage: fake_frameworks.py MODULE.py SIZES.json LIBCUDA"""

import ctypes
import importlib.util
import json
import struct
import sys
import types


class Anything:
    """Of every name, called or decorated with, itself."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(f"{self._name}.{name}")

    def __eq__(self, other):
        return isinstance(other, Anything) and self._name == other._name

    def __hash__(self):
        return hash(self._name)

    def __call__(self, *arguments, **options):
        if self._name.endswith(("custom_op", "register_fake")):
            return self._decorate
        if len(arguments) == 1 and callable(arguments[0]):
            return self._decorate(arguments[0])
        return Anything(f"{self._name}({', '.join(map(repr, arguments))})")

    def _decorate(self, function):
        function.register_fake = lambda f: f
        return function

    def __repr__(self):
        return self._name


class Array:
    def __init__(self, shape, dtype):
        self.shape = tuple(shape)
        self.dtype = dtype


def load(path):
    for name in ("torch", "cupy", "numpy"):
        module = types.ModuleType(name)
        module.__getattr__ = lambda attribute, name=name: Anything(f"{name}.{attribute}")
        sys.modules[name] = module
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arrays(module, sizes):
    shapes = module._shapes(*sizes)
    return [
        Array(shape, module._DTYPES[type_])
        for (_, type_, role, _), shape in zip(module._BUFFERS, shapes)
        if role != "out"
    ]


def raises(kind, function, *arguments):
    try:
        function(*arguments)
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def argument(value):
    if isinstance(value, module._Buffer):
        return {"buffer": int(value)}
    if isinstance(value, module._TensorMap):
        encoded = struct.unpack("<16Q", value.encoded(0x7000))
        return {"tensor_map": value.buffer, "numbers": value._numbers, "encoded": encoded}
    return value


def plan(program, sizes):
    scratch, launches = program.plan(sizes)
    return {
        "scratch": [[type_, list(shape)] for type_, shape in scratch],
        "launches": [
            {
                "kernel": program.kernels[launch.kernel],
                "grid": launch.grid,
                "block": launch.block,
                "shared": launch.shared,
                "args": [argument(a) for a in launch.arguments],
            }
            for launch in launches
        ],
    }


if __name__ == "__main__":
    module = load(sys.argv[1])
    driver = ctypes.CDLL(sys.argv[3])
    ctypes.CDLL = lambda _: driver
    with open(sys.argv[2]) as file:
        other = json.load(file)
    made_for = tuple(value for _, value in module._SIZES)
    sizes = tuple(other[name] for name, _ in module._SIZES)
    given = [other[name] for name in module._GIVEN]
    inputs = arrays(module, sizes)
    assert module._sizes_of(inputs, given) == sizes
    shapes = module._check(inputs, sizes)

    # Which program runs where.
    candidate = module._CANDIDATES[0]
    aligned = [256] * len(module._BUFFERS)
    assert module._choose(candidate.capability, made_for, aligned) is candidate
    assert module._choose(candidate.capability, sizes, aligned) is module._REFERENCE
    assert module._choose(candidate.capability, made_for, [4] + aligned[1:]) is module._REFERENCE
    assert module._choose(10, made_for, aligned) is module._REFERENCE

    # What does not fit is refused, with a name.
    first = inputs[0]
    message = raises(ValueError, module._sizes_of, [Array((), first.dtype)] + inputs[1:], given)
    assert module._INPUTS[0][0] in message, message
    other_type = Anything("another type")
    wrong = [Array(first.shape, other_type)] + inputs[1:]
    message = raises(TypeError, module._check, wrong, sizes)
    assert "another type" in message, message
    wrong = [Array((first.shape[0] + 1,) + first.shape[1:], first.dtype)] + inputs[1:]
    assert "shape" in raises(ValueError, module._check, wrong, sizes)
    overlap = [("a", "in", 0, 10), ("b", "inout", 8, 12)]
    assert "overlap" in raises(ValueError, module._check_overlap, overlap)
    module._check_overlap([("a", "in", 0, 10), ("b", "in", 8, 12), ("c", "inout", 12, 13)])

    # Numbers become what the kernel's parameter is.
    assert module._packed("i", 5) == b"\5\0\0\0"
    assert module._packed("I", -1) == b"\xff" * 4
    assert module._packed("f", 1) == b"\0\0\x80\x3f"
    assert module._packed("E", 1.0) == b"\x80\x3f"
    assert module._packed("e", 0.5) == b"\0\x38"
    assert "too large" in raises(ValueError, module._packed, "i", 2**31)
    assert (module._div(-7, 2), module._rem(-7, 2), module._ceildiv(-7, 2)) == (-3, -1, -3)
    assert (module._ceildiv(7, 2), module._ceildiv(-7, -2)) == (4, 4)

    print(
        json.dumps(
            {
                "shapes": [list(shape) for shape in shapes],
                "reference": plan(module._REFERENCE, sizes),
                "candidate": plan(candidate, made_for),
                "source": candidate.source,
            }
        )
    )
