#compdef rivet

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

compdef _rivet_completion rivet
