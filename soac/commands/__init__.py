"""The commands of the CLI, one file each; `soac/cli.py` loads them by name."""
