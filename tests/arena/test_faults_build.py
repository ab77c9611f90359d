"""Building a fault dataset: equal bytes whatever the workers and their order, the rule, resuming, and the exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

from arena.cli.app import app
from arena.diagnosis.conformal import Calibration, calibrate
from arena.faults import build as building
from arena.faults.build import build
from arena.faults.dataset import Dataset, NoDataset, files_below
from arena.faults.making import Drive, Maker, clip_moments
from arena.faults.plan import BuildConfig, CannotBuild, Player
from environments.errors import InfrastructureError, RenderError
from environments.robots.faults import Fault
from environments.robots.faults.annotation import play

HOME = "tabletop/pick-place-bowl-v1"
CONFIG = BuildConfig(
    tasks=(HOME,), players=(Player(agent="scripted-policy"),), kinds=("gripper-opens-mid-carry",), severities=(0, 3),
    per_cell=1, clean=1, every=20,
)  # fmt: skip
BARE = CONFIG.model_copy(update={"pictures": "none"})


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in files_below(folder)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Three episodes without pictures: none, benign, and a drop."""
    return build(tmp_path_factory.mktemp("faults") / "tiny", BARE).dataset


@pytest.mark.slow
@pytest.mark.gl
def test_workers_and_their_order_have_no_part_in_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Clips included: one process in order, and two spawned ones in the opposite order."""
    one = build(tmp_path / "one" / "tiny", CONFIG, workers=1).dataset
    by_task = building._by_task
    monkeypatch.setattr(
        building, "_by_task", lambda wanted: [[s] for b in reversed(by_task(wanted)) for s in reversed(b)]
    )
    other = build(tmp_path / "other" / "tiny", CONFIG, workers=2).dataset
    assert bytes_of(one.folder) == bytes_of(other.folder)
    assert one.problems() == []
    assert len(one.manifest.files) == 2 + 3 * 3, "episodes, datasheet; arrays and two clips each"


def test_the_rule_holds_for_every_episode(made: Dataset):
    by_type = {episode.truth.fault_type: episode for episode in made.episodes}
    assert set(by_type) == {"N0", "N1", "C5"}
    assert by_type["N0"].success and by_type["N1"].success and not by_type["C5"].success
    assert by_type["N1"].truth.injected_type == "C5" and by_type["N1"].truth.repair == "none"
    truth = by_type["C5"].truth
    assert truth.onset_step is not None and truth.manifest_step is not None and truth.no_return_step is not None
    assert truth.onset_step <= truth.manifest_step <= by_type["C5"].steps
    assert truth.repair in ("retry", "regrasp", "reset") and truth.dxyz_m is not None
    assert by_type["C5"].steps == by_type["C5"].horizon
    assert by_type["C5"].subtasks["grasp"] is not None and by_type["C5"].subtasks["release"] is None


def test_an_episode_can_be_played_again_from_its_line(made: Dataset):
    """Task, player, seed and fault of the line give the stored states and actions; without the fault it succeeds."""
    (episode,) = (episode for episode in made.episodes if episode.truth.faulty)
    arrays = made.arrays(episode)
    maker = Maker(BARE)
    env = maker.env(episode.task)
    (slot,) = (slot for slot in building.slots(BARE) if slot.severity == 3)
    (attempt,) = (attempt for attempt in slot.attempts if attempt.id == episode.id)
    drive = maker._drive(env, attempt)
    assert isinstance(drive, Drive)
    assert play(env, drive, episode.seed, None, episode.horizon).success
    states: list[Any] = []
    fault = Fault.parse(episode.fault)
    course = play(
        env, drive, episode.seed, fault, episode.horizon, watch=lambda action: states.append(env.proprioception())
    )
    maker.close()
    assert not course.success
    assert np.array_equal(np.array(states, np.float32), arrays["state"][1:])
    assert arrays["action"].shape == (episode.steps, 7)
    assert [episode.stages[i] for i in arrays["stage"]] == course.stages


def test_a_build_that_was_interrupted_goes_on(made: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The second slot dies; the next build does only what is missing, and the bytes are those of an undisturbed one."""
    folder = tmp_path / "tiny"
    save, saved = building._save, []

    def dies(where: Path, found: Any) -> None:
        if saved:
            raise KeyboardInterrupt
        saved.append(found.slot)
        save(where, found)

    monkeypatch.setattr(building, "_save", dies)
    with pytest.raises(KeyboardInterrupt):
        build(folder, BARE)
    with pytest.raises(NoDataset, match=r"no fault dataset 'tiny' in .*an unfinished one is there"):
        Dataset.open(folder)
    monkeypatch.setattr(building, "_save", save)
    report = build(folder, BARE)
    assert report.reused == 1
    assert bytes_of(folder) == bytes_of(made.folder)
    assert build(folder, BARE).reused == 3, "what is whole is not built again"


def test_a_dataset_that_is_not_there_is_told_with_the_place_and_what_is_there(tmp_path: Path):
    with pytest.raises(NoDataset) as empty:
        Dataset.open(tmp_path / "nothing")
    there = f"no fault dataset 'nothing' in {tmp_path}; "
    assert str(empty.value) == there + "it has none: build one with `arena faults build nothing`"
    for name in ("tabletop", "kitchen", "half-made"):
        (tmp_path / name).mkdir()
        if name != "half-made":
            (tmp_path / name / "manifest.json").write_text("{}", "utf-8")
    with pytest.raises(NoDataset, match="did you mean 'tabletop'"):
        Dataset.open(tmp_path / "tabeltop")
    with pytest.raises(NoDataset) as other:
        Dataset.open(tmp_path / "nothing")
    assert str(other.value) == there + "there are kitchen, tabletop: build one with `arena faults build nothing`"


def test_a_simulation_that_diverges_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch):
    """The next try is made in a world that was built anew; a machine that cannot draw is no such thing."""
    maker = Maker(BARE)
    (slot,) = (slot for slot in building.slots(BARE) if slot.kind is None)
    first, tried, error = maker.env(HOME), maker._try, InfrastructureError("the state diverged")

    def fails_once(*given: Any) -> Any:
        monkeypatch.setattr(maker, "_try", tried)
        raise error

    monkeypatch.setattr(maker, "_try", fails_once)
    made = maker.make(slot)
    assert made.episode is not None and made.dropped == {"the simulation diverged": 1}
    assert maker.env(HOME) is not first
    error = RenderError("no OpenGL")
    monkeypatch.setattr(maker, "_try", fails_once)
    with pytest.raises(RenderError):
        maker.make(slot)
    maker.close()


def test_other_options_do_not_touch_what_is_there(made: Dataset, tmp_path: Path):
    with pytest.raises(CannotBuild, match="built otherwise"):
        build(made.folder, BARE.model_copy(update={"seed": 1}))
    foreign = tmp_path / "mine"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("do not lose me")
    with pytest.raises(CannotBuild, match="holds no dataset"):
        build(foreign, BARE)
    assert (foreign / "thesis.txt").read_text() == "do not lose me"
    with pytest.raises(NoDataset, match="expected lower-case"):
        build(tmp_path / "Not A Name", BARE)


def test_damage_is_found(made: Dataset, tmp_path: Path):
    copy = tmp_path / "copy"
    made.copy_to(copy)
    assert bytes_of(copy) == bytes_of(made.folder)
    found = Dataset.open(copy)
    (copy / "data" / f"{found.episodes[0].id}.npz").write_bytes(b"no")
    (copy / "more.txt").write_text("?")
    (copy / "DATASHEET.md").unlink()
    assert len(found.problems()) == 3
    with pytest.raises(NoDataset, match="is damaged"):
        found.copy_to(tmp_path / "again")


def test_a_bundle_cannot_name_files_outside_itself(made: Dataset, tmp_path: Path):
    copy = tmp_path / "copy"
    made.copy_to(copy)
    lines = (copy / "episodes.jsonl").read_text().replace(made.episodes[0].id, "../../../etc/x")
    (copy / "episodes.jsonl").write_text(lines)
    with pytest.raises(NoDataset, match="is no id of an episode"):
        _ = Dataset.open(copy).episodes


def test_the_datasheet_is_written_from_the_data(made: Dataset):
    text = (made.folder / "DATASHEET.md").read_text()
    assert "3 episodes of 1 tasks" in text
    assert "| C5 | 1 | 1 | 0 | 2 |" in text, "one benign, one of severity 3"
    for heading in ("What it is for", "What is in it", "By class", "By stage", "How it was made", "What it lacks"):
        assert f"{heading}" in text


def test_clips_show_the_beginning_and_the_end():
    assert clip_moments(45, 20) == [0, 20, 40, 45]
    assert clip_moments(40, 20) == [0, 20, 40]
    assert clip_moments(1, 20) == [0, 1]


def test_the_commands_show_and_evaluate(made: Dataset):
    home = str(made.folder.parent)
    shown = CliRunner().invoke(app, ["faults", "show", "tiny", "--home", home, "--check", "--json"])
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    assert (told["episodes"], told["by_type"], told["problems"]) == (3, {"C5": 1, "N0": 1, "N1": 1}, [])
    asked = ["tiny", "--home", home, "--split", "all", "--json"]
    scored = CliRunner().invoke(app, ["faults", "eval", *asked])
    assert scored.exit_code == 0, scored.output
    assert CliRunner().invoke(app, ["diagnose", "static", *asked]).stdout == scored.stdout, "one command, two names"
    total = json.loads(scored.stdout)["overall"]
    assert (total["recall"], total["false_positive_rate"], total["type_accuracy"]) == (1.0, 0.0, 1.0)


def test_a_check_says_how_many_files_it_compared_and_what_is_wrong(made: Dataset, tmp_path: Path):
    made.copy_to(tmp_path / "tiny")
    asked = ["faults", "show", "tiny", "--home", str(tmp_path)]
    assert "compared" not in CliRunner().invoke(app, asked).output
    shown = CliRunner().invoke(app, [*asked, "--check"])
    count = len(made.manifest.files)
    assert shown.exit_code == 0
    assert re.search(rf"{count} files, \d+\.\d MB, compared with the manifest: all are as it says", shown.output)
    (tmp_path / "tiny" / "DATASHEET.md").write_text("other")
    shown = CliRunner().invoke(app, [*asked, "--check"])
    assert shown.exit_code == 1
    assert "compared with the manifest: 1 problem\n" in shown.output and "DATASHEET.md has changed" in shown.output


def test_rules_take_the_thresholds_of_the_policies_that_are_in_the_dataset(made: Dataset, tmp_path: Path):
    """A drop is seen with a calibration too, and it counts as another diagnoser; one of another policy is refused."""
    home, path = str(made.folder.parent), tmp_path / "limits.json"
    calibrate([HOME], "scripted-policy", episodes=10, alpha=0.3).save(path)
    asked = ["faults", "eval", "tiny", "--home", home, "--split", "all", "--json"]
    without, given = (CliRunner().invoke(app, [*asked, *more]) for more in ([], ["--calibration", str(path)]))
    assert given.exit_code == 0, given.output
    plain, calibrated = json.loads(without.stdout), json.loads(given.stdout)
    assert calibrated["fingerprint"] != plain["fingerprint"]
    assert calibrated["overall"]["recall"] == 1.0
    foreign = Calibration.load(path).model_copy(update={"agent": {"agent": "someone-else"}})
    foreign.save(path)
    refused = CliRunner().invoke(app, [*asked, "--calibration", str(path)])
    assert refused.exit_code != 0
    assert "not in tiny" in str(refused.exception) and "limits.json" in str(refused.exception)


@pytest.mark.gl
def test_a_lerobot_dataset_reads_back(tmp_path: Path):
    """Rows, episodes, videos and statistics agree with each other and with the bundle."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'rewind-arena[faults]'")
    from arena.faults import lerobot
    from storage.video import probe, read_frames

    config = CONFIG.model_copy(update={"severities": (3,), "every": 10})
    dataset = build(tmp_path / "tiny", config).dataset
    folder = tmp_path / "out"
    lerobot.export(dataset, folder)
    info = json.loads((folder / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["total_episodes"]) == ("v3.0", 2, 2)
    rows = parquet.read_table(folder / "data/chunk-000/file-000.parquet").to_pydict()
    episodes = parquet.read_table(folder / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert rows["index"] == list(range(info["total_frames"]))
    assert set(rows) == {name for name, feature in info["features"].items() if feature["dtype"] != "video"}
    for number, (row, episode) in enumerate(zip(episodes, dataset.episodes, strict=True)):
        span = slice(row["dataset_from_index"], row["dataset_to_index"])
        arrays = dataset.arrays(episode)
        assert rows["episode_index"][span] == [number] * row["length"]
        assert np.array_equal(np.array(rows["observation.state"][span], np.float32), arrays["state"][:-1:10])
        assert np.allclose(rows["action"][span], arrays["action"][::10])
        assert rows["timestamp"][span] == [i / 2 for i in range(row["length"])]
        key = "observation.images.wrist"
        start, end = (row[f"videos/{key}/{side}_timestamp"] for side in ("from", "to"))
        assert (end - start) * info["fps"] == row["length"]
        video = folder / f"videos/{key}/chunk-000/file-000.mp4"
        (shown,) = read_frames(video, [round(start * info["fps"])])
        (kept,) = dataset.frames(episode, "wrist", [0])
        assert np.abs(shown.astype(int) - kept.astype(int)).mean() < 4, "encoded twice, the same picture"
    assert probe(video).n_frames == info["total_frames"]
    stats = json.loads((folder / "meta/stats.json").read_text())
    actions = np.array(rows["action"])
    assert np.allclose(stats["action"]["mean"], actions.mean(0), atol=1e-6)
    assert np.allclose(stats["action"]["std"], actions.std(0), atol=1e-6)
    assert np.array(stats["observation.images.wrist"]["mean"]).shape == (3, 1, 1)
    import pandas

    tasks = pandas.read_parquet(folder / "meta/tasks.parquet")
    assert list(tasks.index) == sorted({episode.instruction for episode in dataset.episodes})
    with pytest.raises(lerobot.CannotExport, match="not empty"):
        lerobot.export(dataset, folder)


@pytest.mark.gl
def test_lerobots_own_reader_shows_every_frame_of_the_bundle(tmp_path: Path):
    lerobot = pytest.importorskip(
        "lerobot.datasets.lerobot_dataset", reason="pip install lerobot", exc_type=ImportError
    )
    from arena.faults.lerobot import export

    config = CONFIG.model_copy(update={"severities": (3,), "every": 10})
    dataset = build(tmp_path / "tiny", config).dataset
    export(dataset, tmp_path / "out")
    read = lerobot.LeRobotDataset("ours/tiny", root=tmp_path / "out", video_backend="pyav")
    assert (read.meta.total_episodes, read.fps) == (len(dataset.episodes), 2)
    for number, episode in enumerate(dataset.episodes):
        arrays, span = dataset.arrays(episode), read.meta.episodes[number]
        for frame, index in enumerate(range(span["dataset_from_index"], span["dataset_to_index"])):
            shown = read[index]
            assert (int(shown["episode_index"]), shown["task"]) == (number, episode.instruction)
            assert np.allclose(shown["observation.state"], arrays["state"][10 * frame])
            assert np.allclose(shown["action"], arrays["action"][10 * frame])
            for camera in episode.cameras:
                (kept,) = dataset.frames(episode, camera, [frame])
                picture = 255 * np.moveaxis(np.asarray(shown[f"observation.images.{camera}"]), 0, -1)
                assert np.abs(picture - kept).mean() < 4, "encoded twice, the same picture"
