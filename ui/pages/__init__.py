"""The pages, one file each: the Gradio component that carries it. What it shows comes from `/api`."""

from ui.pages import diagnose, episodes, leaderboard, play, proposals, replay

__all__ = ["diagnose", "episodes", "leaderboard", "play", "proposals", "replay"]
