"""`python -m spoonful` is the `spoonful` command."""

from spoonful.cli import main

if __name__ == "__main__":
    main()
