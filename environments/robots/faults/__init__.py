"""Faults: disturbances that a policy does not know of, injected at a known step, with the truth about them.

`kinds` holds the taxonomy, `fault` what a file may ask for, `injector` when it begins and ends, `effects` what it does,
`senses` what a policy perceives under it, `annotation` what came of it.

**Rollback.** A fault is an event of the episode, not a property of the world: once it has happened, restoring a
snapshot from before its onset does not make it happen again (whoever knocked the gripper open does not come back
because time was turned back). With `repeat=True` it does come back, and execution after a restore is then a pure
function of the snapshot. A fault that is in progress in a snapshot continues after a restore, always. A snapshot
carries the fault with its progress, so that another process, which has seen nothing happen, plays on exactly as the
first one did.
"""

from environments.robots.faults.fault import Fault
from environments.robots.faults.injector import Injector
from environments.robots.faults.kinds import KINDS, Kind, KindName, Stage
from environments.robots.faults.senses import Percept, SensedArm, SensedWorld

__all__ = ["KINDS", "Fault", "Injector", "Kind", "KindName", "Percept", "SensedArm", "SensedWorld", "Stage"]
