#compdef rivet

_rivet_completion() {
  eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _RIVET_COMPLETE=complete_zsh rivet)
}

compdef _rivet_completion rivet
