"""The modules that record.py records, each with several types and shapes.

FAMILY.py here has those for the operators of candidates/pytorch/operations/FAMILY.cpp; networks.py
has those in which several families work together. A function with @fixture is a module: `of` makes
one of several functions of the same arguments, each a result. `modules.ALL` has all by their names."""
import importlib
import pkgutil

from modules.helpers import ALL

for found in sorted(pkgutil.iter_modules(__path__), key=lambda one: one.name):
    importlib.import_module(f"modules.{found.name}")

__all__ = ["ALL"]
