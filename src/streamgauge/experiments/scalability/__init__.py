"""How far load and resources go together: demand and capacity, found by search."""
