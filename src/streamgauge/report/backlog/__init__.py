"""How backlogs that were worked off are shown, and window methods side by side."""
