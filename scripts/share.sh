#!/usr/bin/env bash
# Writes the man page and the completions for bash, zsh and fish that a built hone prints, where programs look for them
# below a prefix's share/. Usage: share.sh HONE SHARE_DIR
set -euo pipefail
hone=${1:?usage: share.sh HONE SHARE_DIR} share=${2:?usage: share.sh HONE SHARE_DIR}
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
"$hone" man >"$share/man/man1/hone.1"
"$hone" completion bash >"$share/bash-completion/completions/hone"
"$hone" completion zsh >"$share/zsh/site-functions/_hone"
"$hone" completion fish >"$share/fish/vendor_completions.d/hone.fish"
