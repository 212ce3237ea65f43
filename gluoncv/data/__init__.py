"""Data sets and what is done to their pictures."""
