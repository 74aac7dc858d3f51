"""How backlogs that were worked off are shown, and window methods beside each other."""
