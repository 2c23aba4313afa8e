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
for daemon in worker coordinator serve; do
  unit=$folder/root/etc/systemd/system/hone-$daemon.service
  [ -e "$unit" ] || { echo "no unit of $daemon"; exit 1; }
  # Wrong usage, which is status 2, must not be tried again for ever.
  grep -q '^RestartPreventExitStatus=2$' "$unit" || { echo "$unit loops on wrong usage"; exit 1; }
  grep -q '^Restart=always$' "$unit" || { echo "$unit does not start again what was killed"; exit 1; }
  [ -e "$folder/root/etc/hone/$daemon.env" ] || { echo "no settings of $daemon"; exit 1; }
done
# What systemd says of the units, with the programs where they are in this folder.
if command -v systemd-analyze >/dev/null; then
  mkdir "$folder/units"
  for unit in "$folder/root/etc/systemd/system"/*.service; do
    sed "s|=/opt/hone/|=$folder/root/opt/hone/|" "$unit" >"$folder/units/$(basename "$unit")"
  done
  said=$(systemd-analyze verify --man=no "$folder/units"/*.service 2>&1) || true
  [ -z "$said" ] || { echo "systemd does not like a unit: $said"; exit 1; }
fi
# What man(1) and shells look for, as the installed program prints it.
while read -r file words; do
  target=$(readlink "$folder/root$file") || { echo "no $file"; exit 1; }
  # shellcheck disable=SC2086
  "$folder/root/opt/hone/bin/hone" $words | cmp - "$folder/root$target" || { echo "$file is another one's"; exit 1; }
done <<END
/usr/local/share/man/man1/hone.1 man
/usr/local/share/bash-completion/completions/hone completion bash
/usr/local/share/zsh/site-functions/_hone completion zsh
/etc/fish/completions/hone.fish completion fish
END
if grep -rlF -e "$HOME/" -e "$build" "$folder/there/hone/share"; then echo "it names this machine"; exit 1; fi
if "$folder/there/hone/install.sh" --nonsense 2>/dev/null; then echo "takes any argument"; exit 1; fi
# Nothing but the C library comes from this machine, and no newer one than Debian 12's.
installed=$folder/root/opt/hone
for file in "$installed"/bin/* "$installed"/lib/*; do
  libraries=""
  [[ $file == */bin/* ]] || libraries=LD_LIBRARY_PATH=$installed/lib  # as its program's runpath
  needs=$(env -i PATH="$PATH" ${libraries:+"$libraries"} ldd "$file")
  if grep "not found" <<<"$needs"; then echo "$file lacks a library"; exit 1; fi
  awk '$3 ~ /^\// {print $3}' <<<"$needs" | while read -r library; do
    case $library in
      "$installed"/*|*/libc.so.6|*/libm.so.6|*/libdl.so.2|*/libpthread.so.0|*/librt.so.1|*/libresolv.so.2|*/ld-linux-x86-64.so.2) ;;
      *) echo "$file needs $library"; exit 1 ;;
    esac
  done
  newest=$(objdump -p "$file" | grep -oE 'GLIBC_2[0-9.]+' | sort -uV | tail -1)
  if [ "$(printf '%s\n' GLIBC_2.36 "$newest" | sort -V | tail -1)" != GLIBC_2.36 ]; then
    echo "$file needs $newest, which is newer than 2.36"
    exit 1
  fi
done
# It starts where there is nothing but that.
if [ "$(id -u)" = 0 ] && unshare --mount chroot / true 2>/dev/null; then
  bare=$folder/bare
  mkdir -p "$bare/opt" "$bare/tmp" "$bare/proc"
  cp -r "$installed" "$bare/opt/"
  ldd "$installed"/bin/* | grep -oE '/\S+' | grep -v ":$" | sort -u | while read -r library; do
    [[ $library == "$folder"/* ]] || cp -L --parents "$library" "$bare/"
  done
  for what in --version doctor; do
    status=0
    # The loader finds lib/ through /proc/self/exe. The mount ends with the command.
    env -i PATH="$PATH" HOME=/tmp unshare --mount bash -c 'mount --bind /proc "$1/proc" && exec chroot "$@"' - \
      "$bare" /opt/hone/bin/hone "$what" >"$folder/said" 2>&1 || status=$?
    case $status:$what in
      0:*|3:doctor) ;;  # 3: something that it lists is missing, such as a GPU
      *) cat "$folder/said"; echo "hone $what does not start on glibc alone"; exit 1 ;;
    esac
  done
else
  echo "NOT CHECKED: that it starts on glibc alone, which needs root and unshare"
fi
export XDG_CACHE_HOME=$folder/cache
[ ! -e "$source/build/cuda" ] || export CUDA_HOME=$source/build/cuda
# The same by CMake.
DESTDIR=$folder/cmake cmake --install "$build" --prefix /usr >/dev/null
for file in bin/hone bin/hone-runner bin/hone-sandbox include/hone_launch.h share/man/man1/hone.1 \
  share/bash-completion/completions/hone share/zsh/site-functions/_hone share/fish/vendor_completions.d/hone.fish; do
  [ -s "$folder/cmake/usr/$file" ] || { echo "cmake --install leaves out $file"; exit 1; }
done
"$folder/cmake/usr/bin/hone" doctor | grep -q "^ok *hone-runner *$folder/cmake/usr/bin/" || { echo "its runner is not found"; exit 1; }
"$folder/root/opt/hone/bin/hone" optimize "$folder/root/opt/hone/baselines/vector_add/vector_add.cu" \
  --device emu:sm_90 --budget 3 --db "$folder/hone.db" --quiet
