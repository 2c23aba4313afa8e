#!/usr/bin/env python3
"""mypy agrees with the package's type hints; skipped where this Python has no mypy or no PyTorch.

    python3 tests/python/test_types.py [HONE_BINARY]"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

for name in ("torch", "mypy"):
    if importlib.util.find_spec(name) is None:
        print(f"skipped: this Python has no {name}")
        sys.exit(77)
with tempfile.TemporaryDirectory(prefix="hone-types-") as cache:
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", cache],
        cwd=pathlib.Path(__file__).resolve().parents[2] / "python",
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
sys.exit(1 if found.returncode else 0)
