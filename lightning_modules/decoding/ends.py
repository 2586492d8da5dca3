"""Ends of hypotheses, collected without waiting for the device."""

import numpy as np
from torch import Tensor

from lightning_modules.decoding.backpointers import HypothesisEnd, on_host


class Ends:
    """The hypotheses that end in each step; all records stay on the device until ``by_sentence``.

    Args:
        sentences: number of sentences in the batch.
    """

    def __init__(self, sentences: int) -> None:
        self._sentences = sentences
        self._steps: list[tuple[Tensor, ...]] = []

    def add(
        self, ended: Tensor, sentences: Tensor, rows: Tensor, tokens: Tensor, scores: Tensor
    ) -> None:
        """Record one step; each argument is ``(rows,)`` or ``(sentences, beam)``.

        Args:
            ended: True where a hypothesis ends.
            sentences: number of the sentence in the batch.
            rows: row of the hypothesis in the last call of the model's step.
            tokens: last token.
            scores: score of the hypothesis.
        """
        self._steps.append((ended, sentences, rows, tokens, scores))

    def by_sentence(self) -> list[list[HypothesisEnd]]:
        """Return the ends of each sentence, in the order of steps and then of rows."""
        ended, sentences, *others = map(on_host, zip(*self._steps, strict=True))
        sizes = [step[0].numel() for step in self._steps]
        columns = (sentences, np.repeat(np.arange(len(sizes)), sizes), *others)
        ends: list[list[HypothesisEnd]] = [[] for _ in range(self._sentences)]
        for sentence, *end in zip(*(column[ended].tolist() for column in columns), strict=True):
            ends[sentence].append(HypothesisEnd(*end))
        return ends
