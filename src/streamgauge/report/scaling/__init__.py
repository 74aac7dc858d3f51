"""How the search for demand or capacity is shown: the grid, its curve, its model, the lag."""
