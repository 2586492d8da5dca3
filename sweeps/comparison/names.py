"""Names of the systems of a comparison: keys for files, and labels for people."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from lightning_modules.runs.labels import label_of, varied
from lightning_modules.runs.schema import Result
from lightning_modules.runs.settings.table import labelling_overrides


class Named(NamedTuple):
    """The name of a run's system, which is a key, and its label, which people read."""

    name: str
    label: str

    def followed_by(self, ending: str) -> "Named":
        """Return both with an ending."""
        return Named(self.name + ending, self.label + ending)


def name_runs(results: Sequence[Result]) -> list[Named]:
    """Return the name of each run: its variant, and overrides that its variant's runs do not share.

    Seeds of one variant share a name. A run that repeats name and seed gets ``#2``, ``#3``, …
    Variants of one label are told apart by their names in parentheses.
    """
    all_overrides = [labelling_overrides(result.overrides, result.variant) for result in results]
    labels = [label_of(result.variant, result.overrides, result.config) for result in results]
    variants_by_label: dict[str, set[str]] = {}
    for result, label in zip(results, labels, strict=True):
        variants_by_label.setdefault(label, set()).add(result.variant)
    named: list[Named] = []
    repetitions: Counter[tuple[str, int]] = Counter()
    for result, label, overrides in zip(results, labels, all_overrides, strict=True):
        siblings = [
            o for r, o in zip(results, all_overrides, strict=True) if r.variant == result.variant
        ]
        shared = set(siblings[0]).intersection(*siblings)
        own = [part for part in overrides if part not in shared]
        if len(variants_by_label[label]) > 1:
            label = f"{label} ({result.variant})"
        each = Named(", ".join([result.variant, *own]), varied(label, own))
        repetitions[each.name, result.seed] += 1
        repetition = repetitions[each.name, result.seed]
        named.append(each if repetition == 1 else each.followed_by(f" #{repetition}"))
    return named
