#!/usr/bin/env python3
"""Records what PyTorch answers: small modules as .pt2 files, with their inputs and outputs inside.

    python3 tests/pytorch/record.py [-o FOLDER] [--folders] [NAME ...]

Needs PyTorch 2.11 on a CPU; the tests need none. Each module of modules/ becomes NAME.pt2, to
which the members recorded/inputs/N.bin, recorded/outputs/N.bin and recorded/draws/N.bin are added, and
recorded/mutated/NAME.bin of what it changes: a name in its state, or the number of an argument.
--folders writes them beside it too, as `hone import --verify NAME` reads them.
"""
import argparse
import io
import os
import sys
import warnings
import zipfile

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import modules  # noqa: E402

warnings.filterwarnings("ignore")
DRAWS = ("dropout", "native_dropout", "randn", "rand", "bernoulli")


def raw(tensor):
    """Elements in the order of memory where the tensor is dense, else row-major."""
    return as_bytes(tensor).tobytes()


def as_bytes(tensor):
    """The same as an array of bytes, which is not copied."""
    tensor = tensor.detach()
    if not is_dense(tensor):
        tensor = tensor.contiguous()
    flat = torch.as_strided(tensor, (tensor.numel(),), (1,), tensor.storage_offset())
    return flat.contiguous().cpu().view(torch.uint8).numpy()


def is_dense(tensor):
    expected = 1
    for size, stride in sorted(zip(tensor.shape, tensor.stride()), key=lambda x: (x[1], x[0])):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


class Recorder(torch.fx.Interpreter):
    """Runs the graph, and keeps what it draws."""

    def __init__(self, module):
        super().__init__(module)
        self.draws = []

    def call_function(self, target, args, kwargs):
        name = getattr(target, "_schema", None) and target._schema.name.removeprefix("aten::")
        if name and name.rstrip("_").removesuffix("_like") in DRAWS:
            if name == "native_dropout":
                keep = torch.dropout(torch.ones(args[0].shape, device=args[0].device), args[1], True)
                self.draws.append(keep)
                return (args[0] * keep).to(args[0].dtype), keep != 0
            if name.startswith("dropout"):
                if not args[2] or args[1] == 0:
                    return super().call_function(target, args, kwargs)
                keep = torch.dropout(torch.ones(args[0].shape, device=args[0].device), args[1], True)
                self.draws.append(keep)
                made = (args[0] * keep).to(args[0].dtype)
                return args[0].copy_(made) if name.endswith("_") else made
            result = super().call_function(target, args, kwargs)
            self.draws.append(result.clone())
            return result
        return super().call_function(target, args, kwargs)


def without_traces(program):
    """Line numbers of this machine's Python are most of a small file."""
    for node in program.graph.nodes:
        for key in ("stack_trace", "source_fn_stack", "torch_fn", "from_node"):
            node.meta.pop(key, None)


def record(name, make, folder, folders):
    torch.manual_seed(len(name))
    module, args = make()
    with torch.no_grad():
        program = torch.export.export(module, args, strict=False)
        if getattr(module, "decompose", False):
            program = program.run_decompositions()
        without_traces(program)
        program._example_inputs = None
        buffer = io.BytesIO()
        torch.export.save(program, buffer)
        members = {}
        tensors = [a for a in torch.utils._pytree.tree_leaves(args)]
        for i, argument in enumerate(tensors):
            if isinstance(argument, torch.Tensor):
                members[f"inputs/{i}"] = raw(argument)
        graph = program.module()
        state = {**dict(graph.named_parameters()), **dict(graph.named_buffers())}
        arguments = {str(i): a for i, a in enumerate(tensors) if isinstance(a, torch.Tensor)}
        before = {n: raw(t) for n, t in {**state, **arguments}.items()}
        recorder = Recorder(graph)
        results = recorder.run(*torch.utils._pytree.tree_leaves(args))
        results = [r for r in torch.utils._pytree.tree_leaves(results)]
        for i, result in enumerate(results):
            if isinstance(result, torch.Tensor):
                members[f"outputs/{i}"] = raw(result.contiguous())
        for key, tensor in {**state, **arguments}.items():
            if raw(tensor) != before[key]:
                members[f"mutated/{key}"] = raw(tensor)
        for i, draw in enumerate(recorder.draws):
            members[f"draws/{i}"] = raw(draw)
    path = os.path.join(folder, name + ".pt2")
    # Anew, without what a run of Python is known by, so that the same module gives the same file.
    with zipfile.ZipFile(io.BytesIO(buffer.getvalue())) as old, zipfile.ZipFile(path, "w") as new:
        top = old.namelist()[0].split("/")[0]
        for member in old.namelist():
            if "/sample_inputs/" not in member and "/.data/" not in member:
                new.writestr(zipfile.ZipInfo(member), old.read(member))
        for member, data in members.items():
            new.writestr(zipfile.ZipInfo(f"{top}/recorded/{member}.bin"), data)
    if folders:
        for member, data in members.items():
            target = os.path.join(folder, name, member + ".bin")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", default=os.path.join(os.path.dirname(__file__), "fixtures"))
    parser.add_argument("--folders", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.o, exist_ok=True)
    for name, make in modules.ALL.items():
        if options.names and name not in options.names:
            continue
        try:
            record(name, make, options.o, options.folders)
        except Exception as error:  # the next one may work
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
