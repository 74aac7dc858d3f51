"""Samplers: what happens on the machine while a trial runs, once a second."""
