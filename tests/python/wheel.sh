#!/usr/bin/env bash
# Builds the wheel, installs it into an empty virtual environment without a network, and runs a search there.
# Usage: wheel.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder/cache XDG_DATA_HOME=$folder/data
unset HONE_BINARY PYTHONPATH
"$root/scripts/wheel.sh" "$build" "$folder/dist"
if ! python3 -m venv "$folder/venv" >"$folder/log" 2>&1; then
  echo "skipped: this Python makes no virtual environments: $(tail -1 "$folder/log")"
  exit 77
fi
wheel=$(echo "$folder"/dist/hone_cuda-*-py3-none-manylinux_2_*_x86_64.whl)
# Ubuntu 22.04 has glibc 2.35: a wheel for a later one would not be installed there.
[[ $wheel == *manylinux_2_35_x86_64.whl ]] || { echo "$(basename "$wheel") asks for another glibc than 2.35"; exit 1; }
"$folder/venv/bin/pip" install -q --no-index "$wheel"
cd "$folder"
version=$(sed -n 's/^project(hone VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
[ "$(venv/bin/hone --version)" = "hone $version" ]
venv/bin/python - "$version" <<'END'
import ctypes, sys, hone, hone._binary, importlib.metadata as metadata
assert hone.__version__ == sys.argv[1], hone.__version__
assert "/site-packages/hone/_bundle/bin/hone" in hone.binary(), hone.binary()
points = metadata.entry_points(group="torch_dynamo_backends")
assert ctypes.CDLL(hone._binary.launch_library()).hone_launch_version() == 3
assert [(p.name, p.value) for p in points] == [("hone", "hone._backend:backend")], points
END
# The launch library needs the C library alone: it is loaded beside PyTorch.
library=$(echo venv/lib/python3.*/site-packages/hone/_bundle/lib/libhone_launch.so)
more=$(objdump -p "$library" | awk '$1 == "NEEDED" && $2 !~ /^(libc|ld-linux-x86-64)\.so/ {print $2}')
[ -z "$more" ] || { echo "libhone_launch.so needs $more"; exit 1; }
venv/bin/hone optimize "$root/baselines/softmax/softmax.cu" --device emu:sm_90 --budget 3 --quiet
venv/bin/hone leaderboard
# The same wheel again, byte for byte.
"$root/scripts/wheel.sh" "$build" "$folder/again"
cmp "$wheel" "$folder"/again/*.whl
