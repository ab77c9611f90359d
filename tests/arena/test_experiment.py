"""Experiment files: what is accepted, and that every problem is told at once, with place, value and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import environments
from arena import experiments
from arena.errors import InvalidExperiment
from arena.experiment import load, parse
from arena.plan import build

GOOD = """
name: good
tasks: games/snake-v1
spaces: semantic
seeds: 3
agents: [random, {name: calibrated, p: 0.5, gain: 0.2, label: half}]
conditions: [single]
"""


def problems(text: str) -> dict[str, str]:
    with pytest.raises(InvalidExperiment) as caught:
        parse(text)
    return {problem.path: str(problem) for problem in caught.value.problems}


@pytest.mark.parametrize("name", ["demo", "demo-quick"])
def test_the_built_in_experiments_are_valid(name: str) -> None:
    assert parse(experiments.text(name)).name == name


def test_short_forms_are_filled_in() -> None:
    block = parse(GOOD).blocks[0]
    assert block.seeds == [0, 1, 2]
    assert [(agent.label, agent.options) for agent in block.agents] == [
        ("random", {}),
        ("half", {"p": 0.5, "gain": 0.2}),
    ]
    assert block.conditions[0].label == "single"
    assert block.clock.kind == "stepped"


def test_a_block_inherits_what_stands_beside_it() -> None:
    text = GOOD + "blocks:\n  - {tasks: games/maze-v1}\n  - {spaces: gui, seeds: [7]}\n"
    maze, gui = parse(text).blocks
    assert (maze.tasks, maze.seeds) == (["games/maze-v1"], [0, 1, 2])
    assert (gui.tasks, gui.spaces, gui.seeds) == (["games/snake-v1"], ["gui"], [7])


def test_every_problem_is_told_at_once_with_its_path_value_and_remedy() -> None:
    found = problems(
        """
        name: bad
        tasks: [games/snak-v1, games/maze-v1]
        spaces: [semantic, native]
        seeds: 2
        agents: [randon, {name: calibrated, p: 1.5}]
        conditions: [single]
        """
    )
    assert "did you mean 'games/snake-v1'?" in found["tasks[0]"]
    assert "games/maze-v1" in found["spaces[1]"] and "'native'" in found["spaces[1]"]
    assert "did you mean 'random'?" in found["agents[0].name"]
    assert "agents[1].p" in found and "1.5" in found["agents[1].p"]


def test_schema_problems_too_and_unknown_fields_get_a_suggestion() -> None:
    found = problems(GOOD.replace("seeds: 3", "seed: 3").replace("semantic", "semantik") + "limits: {max_step: 3}\n")
    assert "did you mean 'seeds'?" in found["seed"]
    assert "did you mean 'semantic'?" in found["spaces[0]"]
    assert "did you mean 'max_steps'?" in found["limits.max_step"]
    assert "seeds" in found


def test_paths_name_the_block() -> None:
    found = problems(GOOD + "blocks:\n  - {}\n  - {tasks: games/nothing-v1}\n")
    assert list(found) == ["blocks[1].tasks[0]"]


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("a: [", "line 2", "is not YAML"),
        ("- 1", "file", "expected a mapping"),
        ("", "file", "expected a mapping"),
        (GOOD.replace("name: good", "name: Not Good"), "name", "pattern"),
        (GOOD + "clock: latency\n", "clock", "ms > 0"),
        (GOOD.replace("[single]", "[single, single]"), "conditions[1].label", "used twice"),
        (
            GOOD.replace("[single]", "[{name: single, fault: gripper-opens-mid-carry}]"),
            "conditions[0].fault",
            "takes no faults",
        ),
        (GOOD + "judge: vlm\n", "judge", "needs `model`"),
    ],
)
def test_single_faults(text: str, path: str, said: str) -> None:
    found = problems(text)
    message = next((message for where, message in found.items() if where.startswith(path)), None)
    assert message is not None and said in message, found


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidExperiment, match="cannot be read"):
        load(tmp_path / "nothing.yaml")


def test_a_python_object_tag_is_refused_and_not_built(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with pytest.raises(InvalidExperiment):
        parse(f"name: !!python/object/apply:os.system ['touch {trace}']")
    assert not trace.exists()


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=8) | st.floats(),
        lambda x: (
            st.lists(x, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "tasks", "agents", "seeds", "blocks", "conditions", "limits", "x"]),
                x,
                max_size=5,
            )
        ),
        max_leaves=10,
    )
)
def test_junk_is_refused_with_problems_and_never_crashes(junk: object) -> None:
    import yaml

    with pytest.raises(InvalidExperiment) as caught:
        parse(yaml.safe_dump(junk))
    assert caught.value.problems


def test_results_that_differ_in_kind_never_share_a_row() -> None:
    """Another clock, other limits or other options under the same labels are refused, across blocks too."""
    for block in (
        "{limits: {max_steps: 3}}",
        "{clock: {kind: latency, ms: 400}}",
        "{agents: [random, {name: calibrated, p: 0.1, label: half}]}",
    ):
        found = problems(GOOD + f"blocks:\n  - {{}}\n  - {block}\n")
        assert "is something else in an earlier block" in found["blocks[1].conditions[0].label"]


def test_a_player_has_one_label_in_the_whole_file() -> None:
    found = problems(GOOD + "blocks:\n  - {}\n  - {agents: [{name: random, label: chance}], seeds: [7]}\n")
    assert "is the same player as 'random'" in found["blocks[1].agents[0].label"]


@pytest.mark.parametrize("options", ["3", "[p]", "text"])
def test_options_that_are_no_mapping_are_a_problem_of_the_file(options: str) -> None:
    found = problems(
        GOOD.replace("{name: calibrated, p: 0.5, gain: 0.2, label: half}", f"{{name: calibrated, options: {options}}}")
    )
    assert any("must be a mapping" in message for message in found.values())


def test_a_condition_takes_no_field_that_it_would_ignore() -> None:
    found = problems(GOOD.replace("[single]", "[{name: single, rounds: 3}]"))
    assert any("takes no rounds" in message for message in found.values())


def test_schema_problems_and_wrong_tasks_are_told_together() -> None:
    found = problems(GOOD.replace("games/snake-v1", "games/snak-v1").replace("seeds: 3", "seeds: true"))
    assert "did you mean 'games/snake-v1'?" in found["tasks[0]"] and "1 to 10000" in found["seeds"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x: " + "[" * 3000 + "]" * 3000, "nesting depth"),
        (GOOD.replace("seeds: 3", "seeds: [1, 1]"), "listed twice"),
        (GOOD.replace("label: half", 'label: "\\e[31mred"'), "label"),
        (GOOD + "limits: {max_working_s: .inf}\n", "finite"),
        (GOOD.replace("p: 0.5", "p: .nan"), "no finite number"),
        (GOOD.replace("p: 0.5", "p: 1" + "0" * 5_000), "larger than any number"),
        (GOOD + "limits: {max_tokens: 1" + "0" * 30 + "}\n", "larger than any number"),
        (GOOD + "seeds: 4\n", "is given twice"),
        (GOOD.replace("seeds: 3", "seeds: 1:30"), "base 60"),
    ],
)
def test_what_would_break_later_is_refused_now(text: str, said: str) -> None:
    assert any(said in message for message in problems(text).values())


LIBERO = """
name: libero
tasks: [libero/goal/0-v1, libero/spatial/3-v1]
spaces: native
seeds: 1
agents: scripted
conditions: single
params: {{{params}}}
"""


def test_parameters_of_a_task_are_part_of_the_identity_and_recorded_in_the_tasks_id() -> None:
    def planned(params: str) -> dict[str, str]:
        attempts = [trial.first for trial in build(parse(LIBERO.format(params=params))).trials]
        assert all(attempt.task.id == attempt.spec["task"] for attempt in attempts)
        return {attempt.spec["task"]: attempt.identity for attempt in attempts}

    plain, other = planned(""), planned("convention: lerobot, quality: fast")
    assert list(other) == ["libero/goal/0-lerobot-fast-v1", "libero/spatial/3-lerobot-fast-v1"]
    assert not set(plain.values()) & set(other.values())
    assert planned("convention: openpi, quality: reference") == plain, "the defaults, said or not"
    spatial = environments.get("libero/spatial/3-lerobot-fast-v1")
    assert (
        spatial.max_steps == 280 and spatial.params["convention"] == "lerobot" and spatial.params["quality"] == "fast"
    )


@pytest.mark.parametrize(
    ("params", "path", "said"),
    [
        ("conventon: openvla", "params.conventon", "has no parameter 'conventon'; did you mean 'convention'?"),
        (
            "convention: open-vla",
            "params.convention",
            "expected one of openpi, openvla, lerobot; did you mean 'openvla'?",
        ),
        ("quality: 3", "params.quality", "expected one of reference, fast"),
    ],
)
def test_parameters_that_a_task_does_not_have_are_told_with_the_nearest(params: str, path: str, said: str) -> None:
    found = problems(LIBERO.format(params=params))
    assert list(found) == [path] and said in found[path]


def test_every_task_of_a_block_takes_the_blocks_parameters() -> None:
    told = problems(GOOD + "params: {convention: openvla}\n")["params.convention"]
    assert "games/snake-v1 has no parameter 'convention'; it takes none" in told
    text = GOOD.replace("games/snake-v1", "libero/goal/0-openvla-v1") + "params: {convention: lerobot}\n"
    assert "libero/goal/0-openvla-v1 has no parameter" in problems(text)["params.convention"]


def test_a_variant_may_be_named_by_its_id() -> None:
    text = LIBERO.format(params="").replace("libero/goal/0-v1", "libero/goal/0-openvla-v1")
    ids = [trial.first.spec["task"] for trial in build(parse(text)).trials]
    assert ids == ["libero/goal/0-openvla-v1", "libero/spatial/3-v1"]
