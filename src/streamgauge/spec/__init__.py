"""What was asked for and what came of it; the contracts between the parts."""
