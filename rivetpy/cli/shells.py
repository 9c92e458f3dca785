"""The completion scripts. Each hands over the line as typed and takes a name a line back, which it quotes itself.

typer's own evaluate what comes back, or let it expand; but a key is anybody's text.
"""

from __future__ import annotations

BASH = r"""_rivet_completion() {
    local line word=${COMP_LINE:0:COMP_POINT}
    word=${word##*[ =]}
    COMPREPLY=()
    while IFS= read -r line; do
        [[ -n $line ]] || continue
        if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
            line=${line#"${word%:*}:"}  # bash replaces only what comes after the colon
        fi
        printf -v line %q "$line"
        COMPREPLY+=("$line")
    done < <(env _RIVET_COMPLETE=complete_fish _RIVET_SHELL=bash _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS="${COMP_LINE:0:COMP_POINT}" "$1" 2>/dev/null)
}

complete -o default -F _rivet_completion rivet"""

ZSH = r"""#compdef rivet

_rivet_completion() {
    local line
    local -a lines values shown
    lines=("${(@f)$(env _RIVET_COMPLETE=complete_fish _RIVET_SHELL=zsh _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS="${(j: :)words[1,CURRENT]}" rivet 2>/dev/null)}")
    for line in $lines; do
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    if (( $#values )); then
        compadd -l -d shown -a values
    else
        _files
    fi
}

compdef _rivet_completion rivet"""

FISH = r"""function _rivet_completion
    set -l found (env _RIVET_COMPLETE=complete_fish _RIVET_SHELL=fish _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS=(commandline -cp | string collect) rivet 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end

complete --command rivet --no-files --arguments '(_rivet_completion)'"""
