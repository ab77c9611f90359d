"""A private X display with a real window on it: PyAutoGUI's hands, MSS's eyes."""

from environments.desktop.check import SYSTEM_PACKAGES, check
from environments.desktop.desktop import Desktop, Gesture, ProgramDesktop, Ran
from environments.desktop.launch import Launch

__all__ = ["SYSTEM_PACKAGES", "Desktop", "Gesture", "Launch", "ProgramDesktop", "Ran", "check"]
