#!/usr/bin/env bash
# The package as somebody gets it: unpacked, installed twice into a folder, used from there.
# Usage: install.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
HONE_XZ=-1 "$source/scripts/package.sh" "$build" "$folder/hone" >/dev/null
[ "$(stat -c %s "$folder/hone.tar.xz")" -lt $((48 << 20)) ] || { echo "the tarball is over 48 MiB"; exit 1; }
mkdir "$folder/there" "$folder/root"
tar -C "$folder/there" -xJf "$folder/hone.tar.xz"
mkdir -p "$folder/root/etc/systemd"
"$folder/there/hone/install.sh" --root "$folder/root"
echo "HONE_REDIS=mine" >"$folder/root/etc/hone/worker.env"
"$folder/there/hone/install.sh" --root "$folder/root"
grep -qx "HONE_REDIS=mine" "$folder/root/etc/hone/worker.env" || { echo "the settings were lost"; exit 1; }
[ -e "$folder/root/etc/systemd/system/hone-worker.service" ] || { echo "no unit"; exit 1; }
if "$folder/there/hone/install.sh" --nonsense 2>/dev/null; then echo "takes any argument"; exit 1; fi
# Nothing but the C library comes from this machine.
for binary in hone hone-runner hone-sandbox; do
  ldd "$folder/root/opt/hone/bin/$binary" | awk '$3 ~ /^\// {print $3}' | while read -r library; do
    case $library in
      "$folder"/*|*/libc.so.6|*/libm.so.6|*/libdl.so.2|*/libpthread.so.0|*/librt.so.1) ;;
      *) echo "$binary needs $library"; exit 1 ;;
    esac
  done
done
export XDG_CACHE_HOME=$folder/cache
[ ! -e "$source/build/cuda" ] || export CUDA_HOME=$source/build/cuda
"$folder/root/opt/hone/bin/hone" optimize "$folder/root/opt/hone/baselines/vector_add/vector_add.cu" \
  --device emu:sm_90 --budget 3 --db "$folder/hone.db" --quiet
