"""A private X display with a real window on it: PyAutoGUI's hands, MSS's eyes."""

from environments.desktop.desktop import Desktop

__all__ = ["Desktop"]
