"""What must be fast, with its targets; not part of the tests."""
