"""The games, as tasks."""
