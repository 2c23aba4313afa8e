#!/usr/bin/env bash
# Records what a real GPU makes of the cases of tests/differential.
#   scripts/record_differential.sh BUILD_DIR              here, into tests/differential/outputs.bin
#   scripts/record_differential.sh BUILD_DIR --pack DIR   makes a folder to run on a bare GPU machine:
#                                                         DIR/run.sh writes outputs.bin to $OUT (or .)
# BUILD_DIR holds bin/differential_record (ninja differential_record).
set -euo pipefail
build=${1:?usage: record_differential.sh BUILD_DIR [--pack DIR]}
root=$(cd "$(dirname "$0")/.." && pwd)
record=$build/bin/differential_record
if [ "${2:-}" != --pack ]; then
  exec "$record" "$root/tests/differential/outputs.bin"
fi
out=${3:?--pack needs a folder}
rm -rf "$out"
mkdir -p "$out/lib" "$out/kernels"
strip -o "$out/differential_record" "$record"
# The C library and what belongs to it come from the host.
ldd "$record" | awk '$3 ~ /^\// {print $3}' |
  { grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so' || true; } |
  while read -r library; do cp -Lu "$library" "$out/lib/"; done
cp "$root"/tests/differential/kernels/* "$out/kernels/"
cat > "$out/run.sh" <<'RUN'
#!/usr/bin/env bash
set -u
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export HONE_DIFFERENTIAL_KERNELS="$here/kernels" CUDA_CACHE_DISABLE=1
out=${OUT:-.}
"$here/differential_record" "$out/outputs.bin" | tee "$out/record.txt"
RUN
chmod +x "$out/run.sh"
