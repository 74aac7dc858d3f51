"""What the charts of a trial show, read from its files."""
