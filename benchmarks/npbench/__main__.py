"""`python -m benchmarks.npbench`."""

from .run import main

if __name__ == "__main__":
    main()
