#!/bin/sh
# Compiles bench.cu again (needs nvcc, CUDA 13).
set -e
cd "$(dirname "$0")"
nvcc -ptx --generate-line-info -std=c++17 -arch=sm_90 bench.cu -o bench_sm_90.ptx
# No paths of the machine that compiled them.
sed -i -E 's|(\.file[^"]*")[^"]*/([^"/]+")|\1\2|' bench_sm_90.ptx
