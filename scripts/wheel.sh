#!/usr/bin/env bash
# Makes the Python wheel: the package of python/ with the programs of a build inside, and the shared
# libraries that package.sh gathers. Its platform is the oldest glibc that has every symbol which
# the programs and these libraries need. Usage: scripts/wheel.sh BUILD_DIR OUTPUT_DIR
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")/.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
HONE_XZ=-0 scripts/package.sh "$build" "$stage/package" >/dev/null
mkdir -p "$stage/bundle/bin"
for binary in hone hone-runner hone-sandbox; do mv "$stage/package/bin/$binary" "$stage/bundle/bin/"; done
mv "$stage/package/lib" "$stage/bundle/lib"
for library in "$stage"/bundle/lib/*; do strip --strip-unneeded "$library"; done
newest=$(objdump -T "$stage"/bundle/bin/* "$stage"/bundle/lib/* | grep -oE '\bGLIBC_2\.[0-9]+' |
  sort -t. -k2 -nu | tail -1)
minor=${newest#GLIBC_2.}
python3 scripts/wheel.py "$stage/bundle" "$out" "manylinux_2_${minor}_x86_64"
