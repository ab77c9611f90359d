"""The built-in experiments, as files: they are read like anybody's own."""

from importlib import resources


def text(name: str) -> str:
    """The YAML text of a built-in experiment: `demo`, `demo-quick` or `model`."""
    return (resources.files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")
