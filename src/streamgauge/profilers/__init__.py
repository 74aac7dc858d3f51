"""Profilers: they sample the stacks of an engine's processes; one file for each back end."""
