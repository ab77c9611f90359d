"""The games: one game, one file."""
