#!/usr/bin/env bash
# Installs an unpacked package: programs and their libraries in /opt/hone, `hone` on the path, its man page and completions
# where man(1) and shells look for them, units for systemd where it is there. Usage, as root: ./install.sh [--root DIR] (DIR: for images and tests)
# Run again, it replaces the programs and keeps /etc/hone.
set -euo pipefail
root=""
while [ $# -gt 0 ]; do
  case $1 in
    --root) root=${2:?--root takes a folder}; shift 2 ;;
    *) echo "install: unknown argument '$1'; usage: install.sh [--root DIR]" >&2; exit 2 ;;
  esac
done
cd "$(dirname "$0")"
for needed in bin/hone bin/hone-runner bin/hone-sandbox lib include share systemd; do
  [ -e "$needed" ] || { echo "install: there is no $needed beside this script: run it in the unpacked package" >&2; exit 2; }
done
if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
  echo "install: needs root, or --root DIR" >&2
  exit 3
fi

new=$root/opt/hone.new
rm -rf "$new"
mkdir -p "$new" "$root/usr/local/bin" "$root/etc/hone"
cp -r bin lib include share baselines LICENSE "$new/"
rm -rf "$root/opt/hone.old"
[ ! -e "$root/opt/hone" ] || mv "$root/opt/hone" "$root/opt/hone.old"
mv "$new" "$root/opt/hone"
rm -rf "$root/opt/hone.old"
ln -sfn /opt/hone/bin/hone "$root/usr/local/bin/hone"
(cd share && find . -type f) | while read -r file; do
  file=${file#./}
  case $file in
    # fish looks below /usr/local/share only where $XDG_DATA_DIRS says so.
    fish/*) there=/etc/fish/completions/$(basename "$file") ;;
    *) there=/usr/local/share/$file ;;
  esac
  mkdir -p "$root$(dirname "$there")"
  # A link: the next version's is found by it, too.
  ln -sfn "/opt/hone/share/$file" "$root$there"
done

for daemon in worker coordinator serve; do
  file=$root/etc/hone/$daemon.env
  [ -e "$file" ] && continue
  (umask 077 && cat >"$file" <<END
HONE_REDIS=redis://127.0.0.1:6379
HONE_REDIS_PASSWORD=
HONE_${daemon^^}_OPTIONS=
END
  )
done
if [ -d "$root/etc/systemd" ] || [ -d "$root/run/systemd/system" ]; then
  mkdir -p "$root/etc/systemd/system"
  cp systemd/*.service "$root/etc/systemd/system/"
fi
if [ -z "$root" ]; then
  id hone >/dev/null 2>&1 || useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin hone
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    echo "installed; set HONE_REDIS in /etc/hone/*.env, then: systemctl enable --now hone-worker (or hone-coordinator, hone-serve)"
    exit 0
  fi
fi
echo "installed in $root/opt/hone"
