function _rivet_completion
    set -l found (env _RIVET_COMPLETE=complete_fish _RIVET_SHELL=fish _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS=(commandline -cp | string collect) rivet 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end

complete --command rivet --no-files --arguments '(_rivet_completion)'
