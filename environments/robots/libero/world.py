"""A task of LIBERO as MuJoCo model and data, driven without the benchmark's renderer, clock and retry loop.

The benchmark's own classes build the scene, place its fixtures and judge its goal. What its `reset`
does is done here in the same order, down to the number of dynamics evaluations (each moves the
solver's warm start), but on the model that was built once: every field that an episode may write is put
back first. A failure to place objects is tried again a hundred times, not for ever, and any other error
is raised; the benchmark's `finally: continue` would hide both.

Where fixtures stand is drawn from numpy's global generator, also when a published initial state is
set: those states hold joint positions only. The generator is borrowed here, and given back as it was.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from environments.errors import InfrastructureError, MissingBenchmark
from environments.robots.libero import init_states, loading
from environments.robots.libero.conventions import CONVENTIONS, ConventionName
from environments.robots.libero.suites import Fact
from environments.robots.world import CONTROL_HZ, FINGERS, Vector

PLACEMENT_TRIES = 100
BUILT_FIELDS = ("body_pos", "body_quat", "site_rgba", "geom_rgba", "geom_friction", "body_mass")
"""What an episode, or a fault, may write into the model."""


class LiberoWorld:
    """One task's scene: `mj_model`, `mj_data`, and the benchmark's `problem` that built and judges them.

    Poses and contacts are those of the present state (see `LiberoArm`), but the goal is judged as the
    benchmark judges it, within the last physics substep.
    """

    def __init__(self, fact: Fact, *, assets: str | None = None, convention: ConventionName = "openpi") -> None:
        """Build the scene, in one to two seconds.

        Raises:
            MissingBenchmark: if the benchmark or its assets are not here; the message has the cure.
        """
        self.fact = fact
        self.convention = CONVENTIONS[convention]
        folder = loading.assets_folder(assets)
        problems = [p for p in (loading.package_problem(), folder if isinstance(folder, str) else None) if p]
        if problems or isinstance(folder, str):
            raise MissingBenchmark(fact.id, problems)
        benchmark = loading.benchmark()
        from environments.robots._robosuite import mujoco

        self._mujoco = mujoco
        with borrowed_generator() as seed, benchmark.assets(folder):
            seed(self.convention.seed)
            self.problem = _build(benchmark, fact, str(folder))
        self.mj_model: Any = self.problem.sim.model._model
        self.mj_data: Any = self.problem.sim.data._data
        # Force and torque sensors feed nobody here, and are a tenth of a step.
        self.mj_model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        self.init_states = init_states.read(benchmark.init_states(fact.suite, fact.name))
        wanted = 1 + self.mj_model.nq + self.mj_model.nv
        if self.init_states.shape[1] != wanted:
            got = self.init_states.shape[1]
            raise InfrastructureError(f"{fact.id}: initial states of {got} numbers, the model has {wanted}")
        self.objects: tuple[str, ...] = tuple(self.problem.objects_dict)
        """Names of the things that can be moved."""
        self.fixtures: tuple[str, ...] = tuple(self.problem.fixtures_dict)
        """Names of what stands fast; some have doors, drawers or knobs. Tables and floor are not among them."""
        self.regions: tuple[str, ...] = tuple(self.problem.object_sites_dict)
        """Names of the regions that goals speak of."""
        self.robot: Any = self.problem.robots[0]
        self.goal_holds: tuple[bool, ...] = (False,) * len(fact.goal)
        """Per predicate of the goal, whether it held when the benchmark looked last."""
        shown = [
            self.problem.sim.model.site_name2id(site)
            for name in self.problem.visualization_sites_list
            for site, _ in self.problem.get_object(name).object_properties["vis_site_names"].values()
        ]
        self.indicators: NDArray[np.intp] = np.array(shown, np.intp)
        """Sites whose colour tells a state, such as the burner of a stove that is on."""
        self._properties: tuple[Any, ...] = tuple(self.problem.object_property_initializers)
        self._befores: list[tuple[Any, int]] = []
        """Per episode: the generator before its reset, and how often the benchmark has loaded the scene by then."""
        self._geoms: dict[str, frozenset[int]] = {}

    # --- starting an episode -----------------------------------------------------------------------------------

    def start(self, episode: int, init_state: int | None = None) -> None:
        """Begin as the published harnesses do: `reset`, then `set_init_state`; settling is the arm's.

        Args:
            episode: its number, >= 0; decides where fixtures stand and, modulo 50, the initial state.
            init_state: another initial state than that.

        Raises:
            InfrastructureError: if the benchmark cannot place its objects.
        """
        episode %= len(self.init_states)
        befores = self._befores
        with borrowed_generator() as seed:
            if not befores:
                seed(self.convention.seed)
                befores.append((np.random.get_state(), self.convention.loads))
            for number in range(min(episode, len(befores) - 1), episode + 1):  # with the draws of those before it
                stream, loads = befores[number]
                if self.convention.seed_per_episode:
                    seed(self.convention.seed + number)
                else:
                    np.random.set_state(stream)
                loads = self._place(loads)
                if number + 1 == len(befores):
                    befores.append((np.random.get_state(), loads))
        state = self.init_states[episode if init_state is None else init_state]
        self.problem.sim.set_state_from_flattened(state)
        self.problem.sim.forward()
        self.judge()
        self.problem._post_process()

    def rebuild(self) -> None:
        """Put the model's fields back as they were compiled: fixtures where the scene's file has them."""
        for name, values in self.problem.built.items():
            getattr(self.mj_model, name)[:] = values

    def _place(self, loads: int) -> int:
        """What the benchmark's hard reset does to model, data, robot and controller.

        It loads the scene anew each time, and with each time draws the first positions of doors and drawers once
        more: they are appended to a list that is never emptied. So where fixtures stand depends on the number of
        loads so far, which is given, and returned as it is afterwards.
        """
        from robosuite.utils.errors import RandomizationError

        problem, mujoco = self.problem, self._mujoco
        for _ in range(PLACEMENT_TRIES):
            loads += 1
            problem.object_property_initializers[:] = self._properties * loads
            self.rebuild()
            mujoco.mj_resetData(self.mj_model, self.mj_data)
            problem.sim.forward()  # of the new simulation
            problem.sim.forward()  # of its off-screen renderer
            try:
                problem._reset_internal()
            except RandomizationError:
                continue
            problem.sim.forward()
            problem.visualize(vis_settings=dict.fromkeys(problem._visualizations, False))
            # A hard reset makes a new gripper; this one remembers its last command.
            self.robot.gripper.current_action = np.zeros(2)
            return loads
        raise InfrastructureError(f"{self.fact.id}: LIBERO found no place for its objects in {PLACEMENT_TRIES} tries")

    # --- the goal ----------------------------------------------------------------------------------------------

    def judge(self) -> None:
        """Ask the benchmark's own predicates whether each part of the goal holds."""
        evaluate = self.problem._eval_predicate
        self.goal_holds = tuple(bool(evaluate(predicate)) for predicate in self.problem.parsed_problem["goal_state"])

    def conclude(self) -> None:
        """What the benchmark does at the end of a control step: judge, then update what things look like.

        The arm calls it within its last substep, where the benchmark looks.
        """
        self.judge()
        self.problem._post_process()

    def after_step(self) -> None:
        """Nothing is left to do: see `conclude`."""

    def holds(self, fact: Sequence[str]) -> bool:
        """Whether a predicate of the goal held when the benchmark looked last; any other is asked of it now.

        Raises:
            LookupError: for a thing `in` an object, such as a bowl: the benchmark can only say whether it is `on` it.
        """
        for known, held in zip(self.fact.goal, self.goal_holds, strict=True):
            if known == tuple(fact):
                return held
        if fact[0] == "in" and fact[2] not in self.regions:
            raise LookupError(f"{self.fact.id}: LIBERO judges what is in a region, and {fact[2]!r} is none")
        return bool(self.problem._eval_predicate(list(fact)))

    def memory(self) -> dict[str, Any]:
        """What the benchmark said of the goal when it looked last."""
        return {"holds": list(self.goal_holds)}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Put back what `memory` returned, and make the benchmark's notes of what is on or off follow the joints."""
        self.goal_holds = tuple(bool(held) for held in memory["holds"])
        for state in self.problem.tracking_object_states_change:
            state.update_state()

    @property
    def success(self) -> bool:
        """Whether the whole goal held when the benchmark looked last; its own `_check_success` is this conjunction."""
        return all(self.goal_holds)

    # --- what an expert may know ---------------------------------------------------------------------------------

    def forward(self) -> None:
        """Recompute poses and contacts, after somebody has written positions."""
        self._mujoco.mj_step1(self.mj_model, self.mj_data)

    def position(self, name: str) -> Vector:
        """Where an object's or fixture's body frame is, or the centre of a site, (3,) m, world frame."""
        if name in self.problem.object_sites_dict:
            return np.array(self.mj_data.site_xpos[self._site(name)])
        return np.array(self.mj_data.xpos[self.body(name)])

    def rotation(self, name: str) -> Vector:
        """Orientation of an object, fixture or site, (3, 3), world frame."""
        if name in self.problem.object_sites_dict:
            return np.array(self.mj_data.site_xmat[self._site(name)]).reshape(3, 3)
        return np.array(self.mj_data.xmat[self.body(name)]).reshape(3, 3)

    def velocity(self, name: str) -> Vector:
        """Linear and angular velocity of a movable object, (6,) m/s and rad/s."""
        start = self.mj_model.body_dofadr[self.body(name)]
        return np.array(self.mj_data.qvel[start : start + 6])

    def half_size(self, name: str) -> Vector:
        """Half of a site's edges, (3,) m, in its own frame."""
        size = np.asarray(self.problem.object_sites_dict[name].size, float)
        return np.array(size)

    def collision_geoms(self, name: str) -> tuple[int, ...]:
        """Ids of the collision geoms of an object or fixture with all its moving parts."""
        model = self.mj_model
        root = self.body(name)
        bodies = {root}
        for body in range(root + 1, model.nbody):
            if int(model.body_parentid[body]) in bodies:
                bodies.add(body)
        return tuple(g for g in range(model.ngeom) if int(model.geom_bodyid[g]) in bodies and model.geom_group[g] == 0)

    def bounds(self, name: str) -> Vector:
        """The box around an object's collision geoms in its own body frame, (2, 3) m: lowest and highest corner.

        Raises:
            LookupError: for a name that the scene does not have, or a thing without collision geometry.
        """
        geoms = self.collision_geoms(name)
        if not geoms:
            raise LookupError(f"{name} has no collision geometry")
        data, origin, axes = self.mj_data, self.position(name), self.rotation(name)
        corners = np.concatenate([self._corners(g, data.geom_xpos[g], data.geom_xmat[g]) for g in geoms])
        local = (corners - origin) @ axes
        return np.stack([local.min(axis=0), local.max(axis=0)])

    def box(self, geoms: Sequence[int]) -> tuple[Vector, Vector]:
        """The box around geoms of one body in that body's frame: lowest and highest corner, (3,) m each."""
        rotation, corners = np.empty(9), []
        for geom in geoms:
            self._mujoco.mju_quat2Mat(rotation, self.mj_model.geom_quat[geom])
            corners.append(self._corners(geom, self.mj_model.geom_pos[geom], rotation))
        stacked = np.concatenate(corners)
        return stacked.min(axis=0), stacked.max(axis=0)

    def _corners(self, geom: int, centre: Vector, rotation: Vector) -> Vector:
        """The eight corners of the box around a geom, (8, 3), in the frame in which the geom's pose is given."""
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        aabb = self.mj_model.geom_aabb[geom]
        return np.asarray(centre + (aabb[:3] + signs * aabb[3:]) @ rotation.reshape(3, 3).T)

    def joints(self, name: str) -> dict[str, tuple[float, float, float]]:
        """Doors, drawers and knobs of a fixture, or of the part that a site lies on: position, lowest, highest.

        Metres or radians; empty for what has none, and for objects that move freely.
        """
        owner = self.problem.get_object(name)
        if owner is None:
            raise LookupError(f"{self.fact.id} has no {name!r}")
        found = {}
        for joint in owner.joints or ():
            j = self.mj_model.joint(joint)
            if int(j.type[0]) in (2, 3):  # slide, hinge
                found[joint] = (float(self.mj_data.qpos[j.qposadr[0]]), float(j.range[0]), float(j.range[1]))
        return found

    def joint_limits(self, name: str, state: str) -> tuple[float, ...]:
        """Joint positions between which the benchmark puts a fixture that is to be `open`, `close` and so on.

        Empty where that state means nothing, as `turnon` for a drawer.
        """
        properties = self.problem.get_object(name).object_properties or {}
        limits = (properties.get("articulation") or {}).get(f"default_{state}_ranges", ())
        return tuple(float(limit) for limit in limits)

    def touching(self, first: str, second: str) -> bool:
        """Whether two objects or fixtures, or one and `left_finger` or `right_finger`, are in contact now."""
        return self.in_contact(self.contact_geoms(first), self.contact_geoms(second))

    def in_contact(self, a: frozenset[int], b: frozenset[int]) -> bool:
        """Whether a geom of one set touches one of the other."""
        pairs = self.mj_data.contact.geom[: self.mj_data.ncon].tolist()
        return any((i in a and j in b) or (j in a and i in b) for i, j in pairs)

    def contact_geoms(self, name: str) -> frozenset[int]:
        """Ids of the geoms with which an object, a fixture or a finger touches others."""
        if name not in self._geoms:
            if name in FINGERS:
                names = self.robot.gripper.important_geoms[name]
            else:
                names = self.problem.get_object(name).contact_geoms
            self._geoms[name] = frozenset(int(self.problem.sim.model.geom_name2id(geom)) for geom in names)
        return self._geoms[name]

    def body(self, name: str) -> int:
        """Id of the root body of an object or fixture.

        Raises:
            LookupError: for a name that the scene does not have.
        """
        try:
            return int(self.problem.obj_body_id[name])
        except KeyError:
            known = ", ".join((*self.objects, *self.fixtures, *self.regions))
            raise LookupError(f"{self.fact.id} has no {name!r}; it has {known}") from None

    def _site(self, name: str) -> int:
        return int(self.problem.sim.model.site_name2id(name))


@contextlib.contextmanager
def borrowed_generator() -> Iterator[Callable[[int], None]]:
    """Yields a seeding function for numpy's global generator, which is as before when the block is left."""
    before = np.random.get_state()
    try:
        yield np.random.seed
    finally:
        np.random.set_state(before)


def _build(benchmark: loading.Benchmark, fact: Fact, folder: str) -> Any:
    """The benchmark's problem object of a task, without renderers."""
    from robosuite.controllers import load_controller_config
    from robosuite.utils.errors import RandomizationError

    bddl = str(benchmark.bddl(fact.suite, fact.name))
    problem_class = _recording(benchmark.envs.TASK_MAPPING[benchmark.bddl_utils.get_problem_info(bddl)["problem_name"]])
    for _ in range(PLACEMENT_TRIES):
        try:
            return problem_class(
                bddl,
                robots=["Panda"],
                controller_configs=load_controller_config(default_controller="OSC_POSE"),
                gripper_types="default",
                initialization_noise=None,
                use_camera_obs=False,
                has_renderer=False,
                has_offscreen_renderer=False,
                control_freq=CONTROL_HZ,
                horizon=1000,
                camera_names=["agentview", "robot0_eye_in_hand"],
            )
        except RandomizationError:
            continue
        except FileNotFoundError as error:
            missing = f"{error.filename or error} is missing from {folder}; download the assets: {loading.DOWNLOAD}"
            raise MissingBenchmark(fact.id, [missing]) from None
        except ValueError as error:  # how MuJoCo tells of a mesh or texture that it cannot open
            if "file" not in str(error).lower():
                raise
            problem = f"{str(error)[:300]} (assets in {folder}); download them: {loading.DOWNLOAD}"
            raise MissingBenchmark(fact.id, [problem]) from None
    raise InfrastructureError(f"{fact.id}: LIBERO found no place for its objects in {PLACEMENT_TRIES} tries")


def _recording(problem_class: Any) -> Any:
    """The same class, noting the model as it was compiled and looking for contacts by number instead of by name."""
    from robosuite.environments.base import REGISTERED_ENVS

    class Recording(problem_class):
        def _initialize_sim(self, xml_string: str | None = None) -> None:
            super()._initialize_sim(xml_string)
            model = self.sim.model._model
            self.built = {name: getattr(model, name).copy() for name in BUILT_FIELDS}
            self._ids: dict[int, frozenset[int]] = {}

        def _assert_problem_name(self) -> None:
            """The benchmark compares the class's name with the file's; the class was chosen by it."""

        def check_contact(self, geoms_1: Any, geoms_2: Any = None) -> bool:
            if not (hasattr(geoms_1, "contact_geoms") and hasattr(geoms_2, "contact_geoms")):
                return bool(super().check_contact(geoms_1, geoms_2))
            a, b = self._contact_ids(geoms_1), self._contact_ids(geoms_2)
            data = self.sim.data._data
            pairs = data.contact.geom[: data.ncon].tolist()
            return any((i in a and j in b) or (j in a and i in b) for i, j in pairs)

        def _contact_ids(self, thing: Any) -> frozenset[int]:
            if id(thing) not in self._ids:
                model = self.sim.model
                self._ids[id(thing)] = frozenset(int(model.geom_name2id(name)) for name in thing.contact_geoms)
            return self._ids[id(thing)]

    REGISTERED_ENVS.pop("Recording", None)  # robosuite's metaclass registers every class; this is nobody's business
    return Recording
