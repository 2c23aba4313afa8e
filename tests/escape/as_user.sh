#!/bin/sh
# Tests of what must hold for an ordinary user, too, run as one. Usage: as_user.sh FOLDER TEST [FILTER]
# with the folder of the binaries. Exit status 77: not root, so the tests have run as an ordinary user
# anyway; or that user cannot read NVRTC, which the test needs.
[ "$(id -u)" = 0 ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for program in "$2" escape_probe hone hone-runner hone-sandbox; do cp "$1/$program" "$folder"; done
chmod -R a+rX "$folder"
cd /
user="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all"
export TMPDIR=/tmp HOME="$folder"
if [ "$2" != sandbox_tests ]; then
  # Only a library that this user cannot read is a reason to skip; a hone that fails is not.
  nvrtc=$("$folder/hone" doctor | sed -n 's/^ok  *NVRTC .*(\(\/.*\))$/\1/p')
  if [ -n "$nvrtc" ] && ! $user test -r "$nvrtc"; then
    echo "nobody cannot read $nvrtc"
    exit 77
  fi
fi
$user "$folder/$2" --gtest_filter="${3:-*}"
