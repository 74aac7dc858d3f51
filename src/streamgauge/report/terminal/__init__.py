"""Runs and their trials as text in the terminal."""
