"""Aggregation in overlapping windows, by several methods with the same answers."""
