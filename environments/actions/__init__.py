"""Action spaces: typed semantic actions, GUI gestures, the robot's native action."""

from environments.actions.gui import GuiAction
from environments.actions.spec import Action, NativeActions, TypedActions

__all__ = ["Action", "GuiAction", "NativeActions", "TypedActions"]
