"""Probes: questions about recorded episodes whose answer is known, to say why an agent fails.

Does it see what is in the picture (perception), does it know what came first (chronology), does it know what comes next
(planning)? The questions are made from recordings, seeded and balanced; the truth is what we drew, the order of the
recording, or the engine's.
"""

from arena.probing.prober import Prober
from arena.probing.question import KINDS, Kind, Question, Spot
from arena.probing.recording import Recording
from arena.probing.report import FormReport
from arena.probing.session import Probing, of_run, of_tasks, probe
from arena.probing.sets import FORMS, questions

__all__ = [
    "FORMS",
    "KINDS",
    "FormReport",
    "Kind",
    "Prober",
    "Probing",
    "Question",
    "Recording",
    "Spot",
    "of_run",
    "of_tasks",
    "probe",
    "questions",
]
