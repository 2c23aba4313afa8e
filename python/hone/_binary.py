"""Finds and runs the program `hone`, which does all the work."""
import contextlib
import glob
import json
import os
import re
import subprocess
import sys
from typing import Any, Dict, List, Sequence

from hone._errors import HoneError, HoneNotFound

_HERE = os.path.dirname(os.path.abspath(__file__))


def _is_program(path: str) -> bool:
    """An ELF file that may be run. The console script `hone` of this package is none."""
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def binary() -> str:
    """The path of the program `hone`: HONE_BINARY, else the one inside this package, else the
    first on PATH. HoneNotFound: there is none, with how to get one."""
    named = os.environ.get("HONE_BINARY")
    if named:
        if not _is_program(named):
            raise HoneNotFound(f"HONE_BINARY={named}: is not a program; name the built hone")
        return os.path.abspath(named)
    bundled = os.path.join(_HERE, "_bundle", "bin", "hone")
    if _is_program(bundled):
        return bundled
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, "hone")
        if folder and _is_program(path):
            return os.path.abspath(path)
    raise HoneNotFound(
        "there is no program hone: install the wheel that scripts/wheel.sh makes, or build it "
        "(scripts/build.sh) and name build/release/bin/hone in HONE_BINARY"
    )


def launch_library() -> str:
    """The path of `libhone_launch.so`, which lies beside the program. HoneError: it does not."""
    folder = os.path.dirname(os.path.dirname(os.path.realpath(binary())))
    path = os.path.join(folder, "lib", "libhone_launch.so")
    if not os.path.isfile(path):
        raise HoneError(f"there is no {path}, which belongs to the program {binary()}")
    return path


def _site_folders() -> List[str]:
    """Where pip puts NVIDIA's wheels beside this package or PyTorch, else anywhere on the path."""
    return [os.path.join(folder, "nvidia") for folder in [os.path.dirname(_HERE), *sys.path] if folder]


def cuda_environment() -> Dict[str, str]:
    """What tells the program where the wheels nvidia-cuda-nvrtc and nvidia-cuda-runtime lie: {}
    where CUDA_HOME or CUDA_PATH is set or there are no such wheels. The program searches both
    variables, each for the library and the headers; the wheels of CUDA 12 are two folders."""
    if os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH"):
        return {}
    for root in _site_folders():
        # The newest first. CUDA 13 and later: one folder, such as nvidia/cu13.
        together = [f for f in glob.glob(os.path.join(root, "cu[0-9]*")) if f[-2:].isdigit()]
        for folder in sorted(together, reverse=True):
            if glob.glob(os.path.join(folder, "lib", "libnvrtc.so.*")) and os.path.isfile(
                os.path.join(folder, "include", "cuda_fp16.h")
            ):
                return {"CUDA_HOME": folder}
        library = os.path.join(root, "cuda_nvrtc")
        headers = os.path.join(root, "cuda_runtime")
        if glob.glob(os.path.join(library, "lib", "libnvrtc.so.*")) and os.path.isfile(
            os.path.join(headers, "include", "cuda_fp16.h")
        ):
            return {"CUDA_HOME": library, "CUDA_PATH": headers}
    return {}


def environment() -> Dict[str, str]:
    """The environment of the program."""
    return {**os.environ, **cuda_environment()}


def run(command: str, *arguments: str, progress: bool = False) -> Dict[str, Any]:
    """Runs `hone COMMAND ARGUMENT... --json -`; the JSON document that it prints.

    `progress`: its messages go to this process's stderr. HoneError: it failed, with its one line
    and its exit status; where the document of a failed check has a verdict, it is returned."""
    call = [binary(), command, *arguments, "--json", "-"]
    done = subprocess.run(
        call,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if progress else subprocess.PIPE,
        env=environment(),
        check=False,
    )
    document: Dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        document = json.loads(done.stdout)
    if done.returncode == 0 and document:
        return document
    if done.returncode == 1 and "verdict" in document:
        return document
    lines = (done.stderr or b"").decode(errors="replace").strip().splitlines()
    if lines and not document and (lacking := _lacking(lines[0])):  # the loader says it before all else
        raise HoneError(lacking, 3)
    raise HoneError(_one_line(document, lines, command, done.returncode), done.returncode)


def _one_line(document: Dict[str, Any], lines: Sequence[str], command: str, status: int) -> str:
    error = document.get("error")
    if isinstance(error, dict) and error.get("message"):
        return str(error["message"])
    if lines:
        return lines[-1].removeprefix("hone: ")
    return f"hone {command} ended with status {status} and said nothing"


def _lacking(line: str) -> str:
    """What the dynamic loader's refusal of the program means; "" where a line is none."""
    found = re.search(r"(\S+): version `(GLIBC|GLIBCXX|CXXABI)_([0-9.]+)' not found", line)
    if found is None:
        return ""
    library = "glibc" if found[2] == "GLIBC" else "libstdc++"
    return (
        f"the program hone needs a newer {library} than this system's: {found[1]} has no {found[2]}_{found[3]}. "
        f"The wheel runs on glibc 2.35 and later (Ubuntu 22.04, Debian 12) with libstdc++ of GCC 12"
    )


def main() -> None:
    """The console script: becomes the program."""
    try:
        path = binary()
    except HoneNotFound as error:
        print(f"hone: {error}", file=sys.stderr)
        sys.exit(3)
    os.execve(path, [path, *sys.argv[1:]], environment())
