"""The order of validations: a lower loss is better, then a higher BLEU.

The best checkpoint, early stopping, the plateau schedule and studies all use it. BLEU alone would
tie while it is 0, and a tie would keep the weights of the first validation.
"""

from collections.abc import Iterator, Sequence
from math import inf, isfinite
from typing import NamedTuple

VAL_LOSS, VAL_BLEU, IMPROVEMENTS = "val/loss", "val/bleu", "val/improvements"
"""Names of the numbers of a validation, for Lightning and the tracker."""
VAL_SPREAD = "val/attention_spread"  # of a model with attention; see `training/attention_spread.py`
MODES = {VAL_LOSS: "min", VAL_BLEU: "max", IMPROVEMENTS: "max"}
"""Whether the best of these numbers is the lowest or the highest."""


DECIMALS = 4  # of losses that are compared: rounding errors alone make no better weights


class Validation(NamedTuple):
    """The numbers of a validation."""

    loss: float  # mean loss of the references, in nats per target token
    bleu: float

    @property
    def order(self) -> tuple[float, float]:
        """Sort key, lowest for the best: the lower loss is better, then the higher BLEU."""
        return round(self.loss, DECIMALS), -self.bleu


def count_improvements(validations: Sequence[Validation]) -> int:
    """Return how many validations were better than all before, which rises with each of them.

    A validation without a finite loss is none of them.
    """
    count, best = 0, (inf, inf)
    for validation in validations:
        if isfinite(validation.loss) and validation.order < best:
            count, best = count + 1, validation.order
    return count


def doubts(tested: Validation | None, validations: Sequence[Validation]) -> Iterator[str]:
    """Yield what speaks against the tested weights; ``tested`` is their validation, if any."""
    if tested is None:
        yield "no validation took place: the tested weights are the last, not the best"
        return
    if tested.bleu == 0:
        yield (
            "validation BLEU of the tested weights is 0: they have learned too little, or BLEU "
            "cannot score such text; see other metrics, or train longer with budget.KIND=N"
        )
    lowest = min((each.loss for each in validations if isfinite(each.loss)), default=inf)
    if lowest < inf and not round(tested.loss, DECIMALS) <= round(lowest, DECIMALS):
        yield (
            f"validation loss of the tested weights is {tested.loss:.4f}, and {lowest:.4f} in "
            "another validation; callbacks=default with "
            "callbacks.checkpoint.monitor=val/improvements tests the best"
        )
