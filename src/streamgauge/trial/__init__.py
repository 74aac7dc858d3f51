"""One trial: its phases, readiness, drain and record."""
