"""Questions asked of a system: pure functions of the trials so far."""
