#!/usr/bin/env bash
# Makes the Python wheel: the package of python/ with the programs of a build inside, and the shared
# libraries that package.sh gathers, but for those of g++: as in other wheels, they are the system's. Debian 12's
# own would ask for glibc 2.36; with Ubuntu 22.04's, which are as new, 2.35 is enough. The wheel's platform is
# the oldest glibc that has every symbol which the programs and these libraries need.
# Usage: scripts/wheel.sh BUILD_DIR OUTPUT_DIR
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
rm "$stage"/bundle/lib/libstdc++.so.6 "$stage"/bundle/lib/libgcc_s.so.1
for library in "$stage"/bundle/lib/*; do strip --strip-unneeded "$library"; done
# The newest version of one kind of symbols that something in the wheel asks for.
newest() {
  objdump -T "$stage"/bundle/bin/* "$stage"/bundle/lib/* | grep -oE "\b$1[0-9]+\b" | sort -t. -k"$2" -nu | tail -1
}
minor=$(newest 'GLIBC_2\.' 2)
minor=${minor#GLIBC_2.}
[ "$minor" -ge 35 ] || minor=35  # beside an older one libstdc++ is older, too
# What libstdc++ of g++ 12 has, the one beside glibc 2.35.
cxx=$(newest 'GLIBCXX_3\.4\.' 3)
if [ "${cxx#GLIBCXX_3.4.}" -gt 30 ]; then
  echo "wheel: the programs need $cxx: build them with g++ 12, or systems with glibc 2.$minor may lack it" >&2
  exit 1
fi
python3 scripts/wheel.py "$stage/bundle" "$out" "manylinux_2_${minor}_x86_64"
