"""`python -m benchmarks.futhark`."""

from .run import main

if __name__ == "__main__":
    main()
