"""The eyes: a FastAPI and Gradio app that replays episodes. It reads the store and never runs anything."""
