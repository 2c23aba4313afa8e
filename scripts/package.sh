#!/usr/bin/env bash
# Makes a self-contained folder: stripped binaries in bin/, the shared libraries they need and the launch
# library in lib/, the latter's header in include/, the man page and completions in share/, the baselines, units for
# systemd and a script that installs it all; and beside it the same as a tarball, OUTPUT_DIR.tar.xz. Usage: scripts/package.sh BUILD_DIR OUTPUT_DIR
set -euo pipefail
build=$1 out=$2
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/include"
cd "$(dirname "$0")/.."
for binary in hone hone-runner hone-sandbox; do
  strip -o "$out/bin/$binary" "$build/bin/$binary"
  # The C library and what belongs to it come from the host.
  ldd "$build/bin/$binary" | awk '$3 ~ /^\// {print $3}' |
    grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|ld-linux-x86-64)\.so' | while read -r library; do
      cp -Lu "$library" "$out/lib/"
    done
done
strip --strip-unneeded -o "$out/lib/libhone_launch.so" "$build/lib/libhone_launch.so"
cp candidates/launch/hone_launch.h "$out/include/"
scripts/share.sh "$build/bin/hone" "$out/share"
cp -r baselines LICENSE scripts/install.sh scripts/systemd "$out/"
# What a worker needs and no more: the tests stay out of the tarball.
tar -C "$(dirname "$out")" --owner=0 --group=0 --sort=name -c "$(basename "$out")" |
  xz -T0 ${HONE_XZ:--6} >"$out.tar.xz"
for gpu_test in "$build"/bin/*gpu_tests; do
  [ -e "$gpu_test" ] && cp "$gpu_test" "$out/bin/"
done
du -sh "$out" "$out.tar.xz"
