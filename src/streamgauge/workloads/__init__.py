"""Data and queries with known answers, one folder per workload."""
