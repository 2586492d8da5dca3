"""Heat maps as the page holds them: how to draw one, with the weights apart and short."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lightning_modules.charts import as_spec
from lightning_modules.heat_map import attention_map, positions
from lightning_modules.run_folder import SentenceAttention

MOST_WEIGHTS = 800_000
"""Of single heads on a page, about 2 MB."""
HeatMap = dict[str, Any]


def heat_map(attention: SentenceAttention, heads: NDArray[np.floating] | None = None) -> HeatMap:
    """A Vega-Lite ``spec`` without cells, its rows and columns, and weights in thousandths.

    ``heads`` (layers, heads, target words, source words) come with their mean as the last head.
    """
    made = {
        "spec": as_spec(attention_map(attention.model_copy(update={"weights": []}))),
        "source": positions(attention.source_words),
        "target": positions(attention.target_words),
        "weights": _thousandths(attention.weights),
    }
    if heads is not None:
        made["heads"] = _thousandths(np.append(heads, heads.mean(1, keepdims=True), axis=1))
    return made


def keep_small(maps: Iterable[HeatMap]) -> int:
    """Take single heads away from those maps that would make the page too large to mail.

    Returns from how many.
    """
    total = left_out = 0
    for drawn in maps:
        if "heads" in drawn:
            count = np.size(drawn["heads"])
            if total + count > MOST_WEIGHTS:
                del drawn["heads"]
                left_out += 1
            else:
                total += count
    return left_out


def _thousandths(weights: ArrayLike) -> Any:
    return np.rint(1000 * np.asarray(weights)).astype(int).tolist()
