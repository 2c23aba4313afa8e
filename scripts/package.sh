#!/usr/bin/env bash
# Makes a self-contained folder: stripped binaries in bin/, the shared libraries they need in lib/,
# the baselines. Usage: scripts/package.sh BUILD_DIR OUTPUT_DIR
set -euo pipefail
build=$1 out=$2
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib"
cd "$(dirname "$0")/.."
for binary in hone hone-runner hone-sandbox; do
  strip -o "$out/bin/$binary" "$build/bin/$binary"
  # The C library and what belongs to it come from the host.
  ldd "$build/bin/$binary" | awk '$3 ~ /^\// {print $3}' |
    grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so' | while read -r library; do
      cp -Lu "$library" "$out/lib/"
    done
done
cp -r baselines LICENSE "$out/"
for gpu_test in "$build"/bin/*gpu_tests; do
  [ -e "$gpu_test" ] && cp "$gpu_test" "$out/bin/"
done
du -sh "$out"
