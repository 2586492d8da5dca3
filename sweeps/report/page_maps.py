"""Heat maps as the script of a page draws them: a description of the map, and its weights apart."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from altair.utils.schemapi import debug_mode
from numpy.typing import ArrayLike, NDArray

from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.heat_map import Panel, attention_map, label_room, numbered_words

HeatMap = dict[str, Any]


def heat_map(panel: Panel, heads: NDArray[np.floating] | None = None) -> HeatMap:
    """Return a Vega-Lite ``spec`` without cells, rows, columns, and weights in thousandths.

    The ``margin`` in pixels is for the target words, and ``gold`` has the gold links, source word
    first. The mean of ``heads`` ``(layers, heads, tgt words, src words)`` becomes the last head.
    """
    attention = panel.attention
    empty = attention.model_copy(update={"weights": []})
    with debug_mode(False):  # Altair's checks take most of the time of a map
        spec = as_spec(attention_map(empty, panel.title, panel.subtitle, "container"))
    del spec["description"]  # the script describes the weights that it draws
    made = {
        "spec": spec,
        "margin": label_room(attention.target_words, "container"),
        "source": numbered_words(attention.source_words),
        "target": numbered_words(attention.target_words),
        "gold": attention.gold,
        "weights": thousandths(attention.weights),
    }
    if heads is not None:
        made["heads"] = thousandths(np.append(heads, heads.mean(1, keepdims=True), axis=1))
    return made


def thousandths(weights: ArrayLike) -> Any:
    """Return weights as nested lists of whole numbers, from 0 to 1,000."""
    return np.rint(1000 * np.asarray(weights, np.float64)).astype(int).tolist()


def limit_heads(maps: Iterable[HeatMap], most: int) -> int:
    """Remove single heads from the maps beyond ``most`` weights, with which a page is too large.

    Returns the number of changed maps.
    """
    total = left_out = 0
    for drawn in maps:
        if "heads" in drawn:
            count = np.size(drawn["heads"])
            if total + count > most:
                del drawn["heads"]
                left_out += 1
            else:
                total += count
    return left_out
