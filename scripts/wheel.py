#!/usr/bin/env python3
"""Packs python/hone and a folder with bin/ and lib/ into a wheel; wheel.sh calls it.

    python3 scripts/wheel.py BUNDLE OUTPUT_DIR PLATFORM

Needs nothing but Python 3.11. The same files give the same wheel, byte for byte."""
import base64
import hashlib
import pathlib
import re
import sys
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_BYTES = 40_000_000


def entry_points(project):
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in entries.items())
        for group, entries in groups.items()
    )


def main(bundle, output, platform):
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]
    cmake = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(hone VERSION ([0-9.]+)", cmake).group(1)
    stem = f"{project['name'].replace('-', '_')}-{version}"
    tag = f"py3-none-{platform}"
    info = f"{stem}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"
        f"Summary: {project['description']}\nLicense: {project['license']['text']}\n"
        f"Requires-Python: {project['requires-python']}\n"
        "Description-Content-Type: text/markdown\n\n" + (ROOT / "python/README.md").read_text()
    )
    files = {}  # name in the wheel: contents, may be run
    for path in sorted((ROOT / "python/hone").rglob("*")):
        if path.is_file() and path.suffix not in (".pyc", ".md"):
            files[f"hone/{path.relative_to(ROOT / 'python/hone')}"] = path.read_bytes(), False
    for path in sorted(pathlib.Path(bundle).rglob("*")):
        if path.is_file():
            name = path.relative_to(bundle)
            files[f"hone/_bundle/{name}"] = path.read_bytes(), name.parts[0] == "bin"
    files[f"{info}/METADATA"] = metadata.encode(), False
    files[f"{info}/entry_points.txt"] = entry_points(project).encode(), False
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes(), False
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: hone wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode(), False
    record = ""
    for name, (data, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode(), False

    wheel = pathlib.Path(output) / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, (data, may_run) in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if may_run else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    size = wheel.stat().st_size
    print(f"{wheel}: {size / 1e6:.1f} MB")
    if size > MOST_BYTES:
        sys.exit(f"wheel: larger than {MOST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
