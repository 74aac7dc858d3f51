"""Readers of a run folder for people."""
