"""`python -m soac`."""

from .cli import main

main()
