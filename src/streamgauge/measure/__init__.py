"""What the recorded tables say: latency, matching, statistics, trend, verdicts. Starts nothing."""
