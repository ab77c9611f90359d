"""Fault diagnosis: cheap monitors raise an alarm, a diagnoser names the fault, and execution goes back.

supervisor = build(DiagnosisConfig(diagnoser="rules"))
supervisor.begin(task, instruction)
directive = supervisor.watch(moment)        # None, nearly always
if directive and directive.rollback_to is not None: ...
"""

from arena.diagnosis.config import DiagnosisConfig, build
from arena.diagnosis.diagnoser import Case, Diagnoser, Opinion
from arena.diagnosis.monitors import Alarm, GraspSettings, GripperLost, Monitor, Stall, StallSettings
from arena.diagnosis.rules import RulesDiagnoser
from arena.diagnosis.schema import Diagnosis, validate_against
from arena.diagnosis.supervisor import DiagnosingSupervisor
from arena.diagnosis.vlm import VlmDiagnoser

__all__ = [
    "Alarm",
    "Case",
    "Diagnoser",
    "DiagnosingSupervisor",
    "Diagnosis",
    "DiagnosisConfig",
    "GraspSettings",
    "GripperLost",
    "Monitor",
    "Opinion",
    "RulesDiagnoser",
    "Stall",
    "StallSettings",
    "VlmDiagnoser",
    "build",
    "validate_against",
]
