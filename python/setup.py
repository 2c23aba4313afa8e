"""Reads the version from CMake's project; everything else stands in pyproject.toml."""
import pathlib
import re

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent


def version() -> str:
    cmake = HERE.parent / "CMakeLists.txt"
    if cmake.is_file():
        found = re.search(r"project\(hone VERSION ([0-9.]+)", cmake.read_text())
    else:  # a source archive has no CMake file, but knows what it was made from
        found = re.search(r"^Version: (.*)$", (HERE / "PKG-INFO").read_text(), re.M)
    if found is None:
        raise SystemExit("neither CMakeLists.txt nor PKG-INFO names a version")
    return found.group(1)


setup(version=version())
