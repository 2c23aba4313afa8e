#!/usr/bin/env python3
"""Models that others wrote through torch.compile(backend="hone") on a GPU, beside eager and Inductor: a ResNet-18 of torchvision
and a small GPT-2 of transformers, with random weights.

    PYTHONPATH=python python3 tests/bench/torch_models.py [--models resnet18 gpt2] [--budget 120s] [--tf32 default off]
        [--db models.db] [--rounds 30] [--firsts 3]

For each model a table:

- cache only, with an empty database: how much longer the first call takes than with backend="eager" [s], and
  a call afterwards over one of that;
- with a budget: the search, then the same two numbers from the database alone, and a call over eager's and
  Inductor's;
- the error of each against the module in f64, in root mean squares of its answer.

First calls are those of a process of its own each, the median of --firsts. Calls afterwards are taken in turns,
in one process, five calls at a time: the median of --rounds [ms]."""
import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch


def resnet18():
    import torchvision

    torch.manual_seed(0)
    return torchvision.models.resnet18(weights=None).eval(), (torch.randn(32, 3, 224, 224),)


class Logits(torch.nn.Module):
    """A language model whose answer is a tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(tokens, use_cache=False).logits


def gpt2():
    import transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=4, n_head=8, n_embd=512, n_positions=512, vocab_size=8192, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    return Logits(model), (torch.randint(0, 8192, (8, 512)),)


MODELS = {"resnet18": resnet18, "gpt2": gpt2}


def made(name):
    model, inputs = MODELS[name]()
    return model.cuda(), tuple(x.cuda() for x in inputs)


def set_tf32(how):
    """default: as PyTorch has it, on for convolutions."""
    if how == "off":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def options(db, budget=None):
    return {"db": db, **({"budget": budget} if budget else {"cache_only": True})}


def first_call(name, tf32, backend, db):
    """In this process, which prints it [s]."""
    set_tf32(tf32)
    model, inputs = made(name)
    with torch.no_grad():
        model(*inputs)  # cuDNN and cuBLAS are loaded, which is nobody's
        torch.cuda.synchronize()
        compiled = torch.compile(model, backend=backend, **({"options": options(db)} if backend == "hone" else {}))
        begun = time.monotonic()
        compiled(*inputs)
        torch.cuda.synchronize()
        print(json.dumps(time.monotonic() - begun))


def first_calls(name, tf32, backend, db, firsts):
    def once():
        arguments = [sys.executable, __file__, "--first", name, tf32, backend, db]
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(arguments)}\n{done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])

    return statistics.median(once() for _ in range(firsts))


def calls(functions, inputs, rounds):
    """Milliseconds of a call of each."""
    taken = {key: [] for key in functions}
    for function in functions.values():
        for _ in range(5):
            function(*inputs)
    for turn in range(rounds):
        keys = list(functions)
        for key in keys[turn % len(keys):] + keys[: turn % len(keys)]:
            torch.cuda.synchronize()
            begun = time.perf_counter()
            for _ in range(5):
                functions[key](*inputs)
            torch.cuda.synchronize()
            taken[key].append((time.perf_counter() - begun) / 5 * 1e3)
    return {key: statistics.median(times) for key, times in taken.items()}


def error(answer, truth):
    return ((answer.double() - truth).abs().max() / truth.square().mean().sqrt()).item()


def tell(name, tf32, db, budget, rounds, firsts):
    import hone

    set_tf32(tf32)
    model, inputs = made(name)
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        truth = copy.deepcopy(model).double()(*(x.double() if x.is_floating_point() else x for x in inputs))
        empty = os.path.join(folder, "empty.db")
        first = {how: first_calls(name, tf32, *how, firsts) for how in (("eager", db), ("hone", empty))}
        begun = time.monotonic()
        searched = torch.compile(copy.deepcopy(model), backend="hone", options=options(db, budget))
        searched(*inputs)
        seconds = time.monotonic() - begun
        report = hone.compile_reports()[-1]
        first["hone", db] = first_calls(name, tf32, "hone", db, firsts)
        functions = {
            "eager": model,
            "backend eager": torch.compile(copy.deepcopy(model), backend="eager"),
            "nothing known": torch.compile(copy.deepcopy(model), backend="hone", options=options(empty)),
            "known": torch.compile(copy.deepcopy(model), backend="hone", options=options(db)),
            "Inductor": torch.compile(copy.deepcopy(model)),
        }
        errors = {key: error(function(*inputs), truth) for key, function in functions.items()}
        times = calls(functions, inputs, rounds)
    runs = sum(part.runs == "hone" for part in report.parts)
    print(f"\n{name}, TF32 {tf32}: searched {seconds:.0f} s, {runs} of {len(report.parts)} parts run hone's, why not: {report.why_eager}")
    eager, nothing, known = first.values()
    print(f"first call [s]: eager {eager:.2f}, nothing known {nothing - eager:+.2f}, known {known - eager:+.2f}")
    for key in functions:
        print(f"{key:14}{times[key]:8.3f} ms  {times[key] / times['eager']:6.3f} of eager  error {errors[key]:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--budget", default="120s", help="of each model's search")
    parser.add_argument("--tf32", nargs="+", choices=("default", "off"), default=["default"])
    parser.add_argument("--db", default="models.db")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--firsts", type=int, default=3, help="first calls of each kind")
    parser.add_argument("--first", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.first:
        first_call(*given.first)
        return
    if not torch.cuda.is_available():
        raise SystemExit("there is no GPU")
    for name in given.models:
        for tf32 in given.tf32:
            arguments = ["--models", name, "--tf32", tf32]
            if len(given.models) * len(given.tf32) > 1:  # a process each: switches and caches are the process's
                others = ["--budget", given.budget, "--db", given.db]
                others += ["--rounds", str(given.rounds), "--firsts", str(given.firsts)]
                subprocess.run([sys.executable, __file__, *arguments, *others], check=True)
            else:
                tell(name, tf32, given.db, given.budget, given.rounds, given.firsts)


if __name__ == "__main__":
    main()
