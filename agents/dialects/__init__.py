"""GUI dialects: the words in which a model was trained to use a computer, translated to our own gestures.

`speak` gives the object that a player talks through: its schema is the model's tool, its help the prompt's, its
parser takes the model's words and numbers and returns a gesture in pixels of the frame, or says what is wrong.
"""

from agents.dialects.base import Dialect, Reading, Spoken
from agents.dialects.registry import DialectName, speak

__all__ = ["Dialect", "DialectName", "Reading", "Spoken", "speak"]
