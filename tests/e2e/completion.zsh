# Prints what zsh offers at the end of a line, one a line.
# Usage: zsh -f completion.zsh FOLDER_WITH__hone LINE
zmodload zsh/zpty || exit 77
setopt extendedglob
zpty z zsh -f -i
zpty -w z "PROMPT=; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D; bindkey '^I' complete-word"
zpty -w z "zstyle ':completion:*' insert-tab false; offered () { print -r - offered:end; }; comppostfuncs=(offered)"
# compadd is what all completions end in; with -O, -A or -D it only computes.
zpty -w z 'compadd () {
  if [[ ${@[1,(i)(-|--)]} == *-[OAD]\ * ]]; then builtin compadd "$@"; return $?; fi
  local -a hits; builtin compadd -A hits "$@"
  local hit; for hit in $hits; do print -r - offered:$hit; done
  builtin compadd "$@"
}; print -r - ready:$((1 + 1))'
while zpty -r z line; do [[ $line == *ready:2* ]] && break; done
zpty -w -n z "$2"$'\t'
while zpty -r z line; do
  line=${line%%[[:cntrl:]]##}
  [[ $line == *offered:end* ]] && break
  [[ $line == *offered:* ]] && print -r - ${line#*offered:}
done
zpty -d z
