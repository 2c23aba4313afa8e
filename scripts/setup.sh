#!/usr/bin/env bash
# Installs what hone is built from: Debian 12 packages and, where there is no CUDA toolkit with
# NVRTC, NVIDIA's NVRTC and header wheels into build/cuda. `scripts/setup.sh tests` installs what the
# tests are built from and run with, too. Costs nothing when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build ccache git ca-certificates
  libclang-19-dev llvm-19-dev zlib1g-dev libzstd-dev
  libsqlitecpp-dev libsqlite3-dev nlohmann-json3-dev libcli11-dev libfmt-dev libxxhash-dev
  libseccomp-dev libdtl-dev libhiredis-dev libssl-dev libcpp-httplib-dev libcurl4-openssl-dev
  libxgboost-dev # training alone, which opens it at run time
)
optional=()
case "${1:-}" in
  "") ;;
  tests)
    packages+=(
      libgtest-dev libbenchmark-dev clang-19 clang-format-19
      redis-server openssl # the tests start servers of their own, with certificates of their own
      iproute2             # and networks of their own, to cut them
    )
    # Nice to have: without them there are no fuzz targets, the tests take longer to link, and no test looks at the web page,
    # asks Prometheus, completes in these shells or formats the manual.
    optional=(libclang-rt-19-dev lld chromium chromium-driver python3-selenium prometheus zsh fish groff)
    ;;
  *)
    echo "usage: scripts/setup.sh [tests]" >&2
    exit 2
    ;;
esac

cuda=""
for place in "${CUDA_HOME:-}" /usr/local/cuda; do
  if [ -n "$place" ] && [ -e "$place/include/nvrtc.h" ] && ls "$place"/lib64/libnvrtc.so* >/dev/null 2>&1; then
    cuda=$place
    break
  fi
done
need_wheels=0
if [ -z "$cuda" ] && [ ! -e build/cuda/complete ]; then
  need_wheels=1
  packages+=(python3 python3-pip unzip)
fi

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}
missing=() wanted=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
for package in "${optional[@]}"; do installed "$package" || wanted+=("$package"); done
root=()
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: these packages are missing, and this is neither root nor is there sudo: ${missing[*]}" >&2
      exit 3
    fi
    root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  # Debian starts a server with the package. The tests want the program only; one that was here
  # before is left alone.
  if [[ " ${missing[*]} " == *" redis-server "* ]] && [ -d /run/systemd/system ]; then
    "${root[@]}" systemctl disable --quiet --now redis-server || true
  fi
fi
if [ ${#wanted[@]} -gt 0 ] && { [ "$(id -u)" = 0 ] || [ ${#root[@]} -gt 0 ]; }; then
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null 2>&1 ||
    echo "setup: not installed, and not needed: ${wanted[*]}"
  if [[ " ${wanted[*]} " == *" prometheus "* ]] && [ -d /run/systemd/system ]; then # likewise
    "${root[@]}" systemctl disable --quiet --now prometheus || true
  fi
fi

if [ $need_wheels = 1 ]; then
  echo "setup: no CUDA toolkit with NVRTC; fetching NVIDIA's NVRTC and header wheels into build/cuda"
  mkdir -p build/cuda
  wheels=$(mktemp -d)
  trap 'rm -rf "$wheels"' EXIT
  python3 -m pip download -q --no-deps --only-binary=:all: -d "$wheels" \
    'nvidia-cuda-nvrtc>=13.0,<13.1' 'nvidia-cuda-runtime>=13.0,<13.1' \
    'nvidia-cuda-crt>=13.0,<13.1' 'nvidia-cuda-cccl>=13.0,<13.1'
  for wheel in "$wheels"/*.whl; do unzip -qo "$wheel" -d "$wheels/unpacked"; done
  cp -r "$wheels"/unpacked/nvidia/cu13/include "$wheels"/unpacked/nvidia/cu13/lib build/cuda/
  touch build/cuda/complete
fi

# The accessibility checker of the web page's test; without it the test looks at less, and says so.
if [ "${1:-}" = tests ] && [ ! -e build/axe/axe_core_python ]; then
  mkdir -p build/axe
  { python3 -m pip download -q --no-deps --only-binary=:all: -d build/axe axe-core-python==0.1.0 &&
    python3 -m zipfile -e build/axe/axe_core_python-*.whl build/axe; } >/dev/null 2>&1 ||
    echo "setup: not installed, and not needed: axe-core-python"
fi
