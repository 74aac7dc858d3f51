"""The run folder: plain files that everything else reads."""
