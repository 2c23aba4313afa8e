#!/bin/sh
# Compiles the kernels of this folder again (needs nvcc, CUDA 13). Run it after changing a .cu file; with names of
# checkers/*.cu files it compiles only those.
set -e
cd "$(dirname "$0")"
strip() { # no paths of the machine that compiled them
  sed -i -E 's|(\.file[^"]*")[^"]*/([^"/]+")|\1\2|' "$@"
}
for source in ${*:-checkers/*.cu}; do
  source=checkers/$(basename "$source")
  nvcc -ptx --generate-line-info -std=c++17 -arch=sm_90 "$source" -o "${source%.cu}.ptx"
  strip "${source%.cu}.ptx"
done
[ $# -eq 0 ] || exit 0
for arch in 80 90; do
  nvcc -ptx --generate-line-info -std=c++17 -arch=sm_$arch kernels.cu -o kernels_sm_$arch.ptx
  nvcc -ptx --generate-line-info -std=c++17 -arch=sm_$arch async.cu -o async_sm_$arch.ptx
done
for name in bulk grid grid_races printf; do
  nvcc -ptx --generate-line-info -std=c++17 -arch=sm_90 $name.cu -o ${name}_sm_90.ptx
done
nvcc -ptx -std=c++17 -arch=sm_80 tensor.cu -o tensor_sm_80.ptx
for name in cluster cluster_cpp tensor_hopper; do
  nvcc -ptx --generate-line-info -std=c++17 -arch=sm_90a $name.cu -o ${name}_sm_90a.ptx
done
strip ./*.ptx
