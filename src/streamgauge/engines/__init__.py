"""Systems under test: how a job is started, watched and stopped. Knows no workload."""
