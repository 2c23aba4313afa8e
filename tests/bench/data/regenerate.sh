#!/bin/sh
# Compiles the .cu files again (needs nvcc, CUDA 13).
set -e
cd "$(dirname "$0")"
compile() {  # NAME ARCHITECTURE
  nvcc -ptx --generate-line-info -std=c++17 -arch="$2" "$1.cu" -o "$1_$2.ptx"
  # No paths of the machine that compiled them.
  sed -i -E 's|(\.file[^"]*")[^"]*/([^"/]+")|\1\2|' "$1_$2.ptx"
}
compile bench sm_90
compile bench_tensor sm_90a
