"""The pages, one file each: the Gradio component that carries it. What it shows comes from `/api`."""

from ui.pages import episodes, leaderboard, play, proposals, replay

__all__ = ["episodes", "leaderboard", "play", "proposals", "replay"]
