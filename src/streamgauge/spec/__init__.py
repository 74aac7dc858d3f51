"""What was asked for and what resulted; the contracts between the parts."""
