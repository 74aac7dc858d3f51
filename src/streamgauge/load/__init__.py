"""The load: the arrival schedule and the sender that keeps it."""
