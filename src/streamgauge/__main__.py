"""Let `python -m streamgauge` be the command."""

from streamgauge.cli import main

if __name__ == "__main__":
    main()
