"""The charts of runs, for pages, pictures and notebooks."""
