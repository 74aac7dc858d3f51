"""How studies of the broker are shown: a table of what it took, and when it stamped it."""
