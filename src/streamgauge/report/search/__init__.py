"""How a search is shown: its rates, its latencies, and the trials that its answer rests on."""
