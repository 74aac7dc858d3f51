"""Runs against a base: what may be compared, what differs, and every way to show that."""
