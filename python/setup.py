"""Reads the version from CMake's project; everything else stands in pyproject.toml."""
import pathlib
import re

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent


def version() -> str:
    cmake = HERE.parent / "CMakeLists.txt"
    if cmake.is_file():
        return re.search(r"project\(hone VERSION ([0-9.]+)", cmake.read_text()).group(1)
    # A source archive has no CMake file, but knows what it was made from.
    return re.search(r"^Version: (.*)$", (HERE / "PKG-INFO").read_text(), re.M).group(1)


setup(version=version())
