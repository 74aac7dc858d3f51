"""How studies of the broker are shown: a table of what it took in, and its append times."""
