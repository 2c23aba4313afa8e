#!/bin/sh
# The sandbox's tests as an ordinary user. Usage: as_user.sh FOLDER_OF_THE_BINARIES
# Exit status 77: not root, so the tests have run as an ordinary user anyway.
[ "$(id -u)" = 0 ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$1/sandbox_tests" "$1/escape_probe" "$1/hone-sandbox" "$folder"
chmod -R a+rX "$folder"
cd /
TMPDIR=/tmp setpriv --reuid=65534 --regid=65534 --clear-groups \
  --inh-caps=-all "$folder/sandbox_tests"
