"""Check a trial's outputs: answers recomputed from the recorded inputs, spread over Spark."""
