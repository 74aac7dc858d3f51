"""What sampled stacks say: tasks, costs, flame graphs. Nothing here looks at a process."""
