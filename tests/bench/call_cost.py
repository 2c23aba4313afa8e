#!/usr/bin/env python3
"""What a call of a module costs the processor on a GPU that has little to do: eager, torch.compile, hone.

    PYTHONPATH=python python3 tests/bench/call_cost.py [--budget 4s]

The module is GELU written out, six operations of PyTorch on 65,536 numbers. Prints microseconds a call, the
best of five times 500 calls."""
import argparse
import math
import time

import torch

import hone


class Gelu(torch.nn.Module):
    def forward(self, x):
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


def microseconds(function, calls=500):
    best = float("inf")
    for _ in range(20):
        function()
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - begin) / calls * 1e6)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="4s")
    options = parser.parse_args()
    module, x = Gelu(), torch.randn(256, 256, device="cuda")
    with torch.no_grad():
        fast = hone.optimize(module, (x,), budget=options.budget, inductor=False)
        if not hone.report(fast).replaced:
            raise SystemExit("the search found nothing faster: give it a larger --budget")
        for name, function in (("eager", module), ("torch.compile", torch.compile(module)), ("hone", fast)):
            print(f"{name:14}{microseconds(lambda f=function: f(x)):6.1f} us")


if __name__ == "__main__":
    main()
