"""How a profile is shown: its tasks as a table and bars, its stacks as a flame graph."""
