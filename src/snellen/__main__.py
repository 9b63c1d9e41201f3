"""python -m snellen: the same as the command."""

from snellen.cli import main

if __name__ == "__main__":
    main()
