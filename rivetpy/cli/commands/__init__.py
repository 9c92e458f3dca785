"""The sub-commands, one file each."""
