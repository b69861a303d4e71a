"""`python -m stagec`: the command line."""

from stagec.cli import main

if __name__ == "__main__":
    main()
