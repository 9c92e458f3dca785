_rivet_completion() {
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

complete -o default -F _rivet_completion rivet
