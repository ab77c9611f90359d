"""A dataset of robot episodes with faults, made by our own injectors, with the truth about each.

`plan` says what a dataset is to hold, `making` plays and judges one episode of it, `build` makes all of them with
several processes, `clips` draws their pictures, `dataset` is the form on disk, `datasheet` and `lerobot` are written
from it, `evaluation` lets a diagnoser look at it. Only `making`, `clips` and `build` need the engine.
"""

from arena.faults.dataset import Dataset, Episode, Manifest, NoDataset
from arena.faults.plan import BuildConfig, CannotBuild, Player, split_of

__all__ = ["BuildConfig", "CannotBuild", "Dataset", "Episode", "Manifest", "NoDataset", "Player", "split_of"]
