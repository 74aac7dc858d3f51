"""How `efficiency` is shown: costs of tasks over the load, and lines through them."""
