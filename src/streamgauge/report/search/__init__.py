"""How a search is shown: its ladder, its latencies, what its answer rests on."""
