"""A dataset of robot episodes with faults, made by our own injectors, with the truth about each.

`plan` says what a dataset is to hold, `making` plays and judges one episode of it, `build` makes all of them with
several processes, `clips` draws their pictures, `dataset` is the form on disk, `datasheet` and `lerobot` are written
from it.
"""

from arena.faults.build import BuildReport, build
from arena.faults.dataset import Dataset, Episode, Manifest, NoDataset
from arena.faults.plan import BuildConfig, split_of

__all__ = ["BuildConfig", "BuildReport", "Dataset", "Episode", "Manifest", "NoDataset", "build", "split_of"]
