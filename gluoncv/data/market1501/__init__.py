"""Market-1501."""
