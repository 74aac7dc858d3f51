"""What sampled stacks show: tasks, costs, flame graphs. Nothing here looks at a process."""
