"""How records reach the engine and come back."""
