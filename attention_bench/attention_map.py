"""The attention between the words of two sentences, as numbers, links and a heat map."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.word_alignment import Pair, hard_alignment
from lightning_modules.runs.schema import SentenceAttention

if TYPE_CHECKING:  # Altair takes a while
    import altair as alt


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """Attention weights between words; a notebook shows a heat map."""

    source_words: list[str]
    target_words: list[str]
    weights: NDArray[np.float64]  # ``(tgt words, src words)``, 0 to 1
    title: str = ""
    gold: Sequence[Pair] = ()  # known links, ``(source, target)`` from 0; outlined in the heat map

    @property
    def links(self) -> list[Pair]:
        """The source word of highest weight for each target word, ``(source, target)`` from 0."""
        return hard_alignment(self.weights)

    @property
    def chart(self) -> "alt.LayerChart":
        """The heat map: source words on top, target words at the left."""
        from lightning_modules.figures.heat_map import attention_map

        attention = SentenceAttention(
            id=0,
            source_words=self.source_words,
            target_words=self.target_words,
            weights=self.weights.tolist(),
            gold=list(self.gold),
        )
        return attention_map(attention, self.title)

    def _repr_html_(self) -> str:
        from lightning_modules.figures.picture_files import as_html

        return as_html(self.chart)
