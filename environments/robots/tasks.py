"""The robot tasks."""
