#!/usr/bin/env python3
"""How the Python package finds the program and what it says of its errors.

    python3 tests/python/test_program.py HONE_BINARY [unittest's arguments]"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from support import FOLDER, ROOT, run_tests, setUpModule

import hone
from hone import _binary


class Program(unittest.TestCase):
    def test_errors_are_the_programs_one_line(self):
        with self.assertRaises(hone.HoneError) as caught:
            _binary.run("describe", "/nowhere/at_all.task.cu")
        self.assertEqual(caught.exception.status, 2)
        self.assertIn("there is no such file", str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_an_older_c_library_is_said_plainly(self):
        path = os.path.join(FOLDER.name, "old")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n")
            for version, needing in (("GLIBCXX_3.4.30", "old"), ("GLIBC_2.35", "libfmt.so.9")):
                file.write(f"echo \"old: /lib/libX.so.6: version \\`{version}' not found (required by {needing})\" >&2\n")
            file.write("exit 1\n")
        os.chmod(path, 0o755)
        with mock.patch.object(_binary, "binary", lambda: path), self.assertRaises(hone.HoneError) as caught:
            _binary.run("version")
        self.assertRegex(str(caught.exception), r"newer libstdc\+\+ .* has no GLIBCXX_3\.4\.30\. .* glibc 2\.35")
        self.assertNotIn("\n", str(caught.exception))
        self.assertEqual(caught.exception.status, 3, "it is no task that failed its checks")

    def test_says_how_to_get_the_program(self):
        with mock.patch.dict(os.environ, {"PATH": FOLDER.name, "HONE_BINARY": ""}):
            with mock.patch.object(_binary, "_HERE", FOLDER.name):
                with self.assertRaisesRegex(hone.HoneNotFound, "scripts/wheel.sh"):
                    hone.binary()
        with mock.patch.dict(os.environ, {"HONE_BINARY": __file__}):
            with self.assertRaisesRegex(hone.HoneNotFound, "is not a program"):
                hone.binary()

    def test_takes_no_script_named_hone_for_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "hone")
            script.write_text("#!/bin/sh\nexit 0\n")
            script.chmod(0o755)
            program = os.environ["HONE_BINARY"]
            path = os.pathsep.join([folder, os.path.dirname(program)])
            with mock.patch.dict(os.environ, {"PATH": path, "HONE_BINARY": ""}):
                with mock.patch.object(_binary, "_HERE", folder):
                    self.assertEqual(hone.binary(), program)

    def test_finds_nvidias_wheels_in_both_layouts(self):
        def made(root, *files):
            for file in files:
                path = pathlib.Path(root, "nvidia", file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()

        with tempfile.TemporaryDirectory() as root, mock.patch.dict(os.environ):
            os.environ.pop("CUDA_HOME", None)
            os.environ.pop("CUDA_PATH", None)
            with mock.patch.object(_binary, "_site_folders", lambda: [f"{root}/nvidia"]):
                self.assertEqual(_binary.cuda_environment(), {})
                made(root, "cuda_nvrtc/lib/libnvrtc.so.12")
                self.assertEqual(_binary.cuda_environment(), {})  # no headers
                made(root, "cuda_runtime/include/cuda_fp16.h")
                there = f"{root}/nvidia"
                twelve = {"CUDA_HOME": f"{there}/cuda_nvrtc", "CUDA_PATH": f"{there}/cuda_runtime"}
                self.assertEqual(_binary.cuda_environment(), twelve)
                made(root, "cu13/lib/libnvrtc.so.13", "cu13/include/cuda_fp16.h")
                self.assertEqual(_binary.cuda_environment(), {"CUDA_HOME": f"{root}/nvidia/cu13"})
                os.environ["CUDA_PATH"] = "/somewhere"
                self.assertEqual(_binary.cuda_environment(), {})

    def test_importing_imports_no_pytorch(self):
        code = "import hone, sys; sys.exit('torch' in sys.modules)"
        env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        self.assertEqual(subprocess.run([sys.executable, "-c", code], env=env).returncode, 0)


if __name__ == "__main__":
    run_tests()
