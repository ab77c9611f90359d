"""How far repeated answers of a judge can be trusted, without looking into the model.

A model that knows says the same again, in other words perhaps; one that guesses scatters. Two measures, side by side:

- **Vote entropy**: Shannon's entropy of the verdicts, normalised to 0..1 by the logarithm of the number of answers.
- **Concentration**: each answer (verdict and note) becomes a unit vector; of a von Mises-Fisher distribution on the
  sphere that the answers are drawn from, the concentration kappa is estimated. It sees what the vote does not: notes
  that agree on the verdict and contradict each other on what is to be seen.

For vectors x_1..x_k in d dimensions with the mean resultant length R = |sum x_i| / k, kappa = R (d - R^2) / (1 - R^2)
(Banerjee et al., JMLR 6, 2005). It is monotone in R, which is bounded and is what `trust` reports. The idea of trusting
by concentration, after a question in two steps (objects, then relation), is that of DOUBT (ICML 2026).
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float64]
"""(k, d), one row an answer, each of unit length (or zero for an answer without a word)."""
Embedder = Callable[[Sequence[str]], Vectors]

DIMENSIONS = 512
_MAX_KAPPA = 1e6  # all answers alike: the estimate is infinite


@dataclass(frozen=True, slots=True)
class Trust:
    """What repeated answers to one question tell."""

    n: int
    """Answers."""
    resultant: float
    """Mean resultant length R of the answers' vectors, 0..1: 1 if all are alike."""
    kappa: float
    """Concentration of the von Mises-Fisher distribution, at most a million."""
    entropy: float
    """Of the votes, 0..1: 0 if all are alike."""


def trust(votes: Sequence[str], notes: Sequence[str], embed: Embedder | None = None) -> Trust:
    """Measure the agreement of repeated answers.

    Args:
        votes: The verdicts.
        notes: What was said with them, in the same order.
        embed: Makes vectors of texts; by default `hashed`, which needs no model.

    Raises:
        ValueError: for fewer than two answers, or lists of different length.
    """
    if len(votes) != len(notes) or len(votes) < 2:
        raise ValueError(f"expected two answers or more, a note to each, got {len(votes)} votes, {len(notes)} notes")
    vectors = (embed or hashed)([f"{vote} {note}" for vote, note in zip(votes, notes, strict=True)])
    resultant = min(1.0, float(np.linalg.norm(vectors.mean(axis=0))))
    return Trust(len(votes), resultant, concentration(resultant, vectors.shape[1]), vote_entropy(votes))


def concentration(resultant: float, dimensions: int) -> float:
    """The von Mises-Fisher kappa that a mean resultant length suggests."""
    spread = 1.0 - resultant**2
    kappa = resultant * (dimensions - resultant**2) / spread if spread > 0 else math.inf
    return min(kappa, _MAX_KAPPA)


def vote_entropy(votes: Sequence[str]) -> float:
    """Shannon's entropy of the votes over the logarithm of their number: 0 if all are alike, 1 if all differ."""
    if len(votes) < 2:
        return 0.0
    shares = [count / len(votes) for count in Counter(votes).values()]
    return abs(sum(share * math.log(share) for share in shares)) / math.log(len(votes))


def hashed(texts: Sequence[str]) -> Vectors:
    """Texts as unit vectors of their words and pairs of words, hashed into `DIMENSIONS` places with a sign.

    Needs no model and gives the same vectors everywhere (Weinberger et al., ICML 2009). It compares words, not
    meanings; a model's embeddings (`agents.gateway.embeddings`) compare meanings.
    """
    vectors = np.zeros((len(texts), DIMENSIONS))
    for row, text in zip(vectors, texts, strict=True):
        words = re.findall(r"\w+", text.lower())
        for feature in [*words, *(" ".join(pair) for pair in pairwise(words))]:
            code = zlib.crc32(feature.encode("utf-8", "replace"))
            row[code % DIMENSIONS] += 1.0 if code >> 31 else -1.0
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return result


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Probability that a positive case has the higher score than a negative one, ties counting half.

    None unless there are both. (The area under the ROC curve; Mann and Whitney 1947.)
    """
    high = np.sort([score for score, is_positive in zip(scores, positive, strict=True) if is_positive])
    low = np.sort([score for score, is_positive in zip(scores, positive, strict=True) if not is_positive])
    if not high.size or not low.size:
        return None
    below, not_above = np.searchsorted(low, high, "left"), np.searchsorted(low, high, "right")
    return float((below + not_above).sum() / (2 * high.size * low.size))
