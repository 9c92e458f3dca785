"""The command line: `rivet`."""
