"""Clean one part of a training text."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

from datamodules.cleaning.normalising import compose, normalise_punctuation
from datamodules.cleaning.settings import Cleaning
from datamodules.cleaning.steps import HeldOut, StepCount, steps_of
from datamodules.corpus import examples_of

Text = tuple[Sequence[str], Sequence[str]]
"""The lines of both sides."""


@dataclass(frozen=True)
class Cleaner:
    """All steps of cleaning that look at one pair alone."""

    cleaning: Cleaning
    languages: tuple[str, str]
    """Source and target language."""
    held_out: HeldOut
    """Sentences of validation and test, as cleaned."""

    def clean(self, text: Text) -> tuple[Text, list[StepCount]]:
        """Return the cleaned text of a part, and what each step did."""
        counts: list[StepCount] = []
        if self.cleaning.unicode:
            text = _changed(text, counts, "characters composed (NFC)", lambda s, _: compose(s))
        if self.cleaning.punctuation:
            text = _changed(text, counts, "punctuation normalised", self._punctuation)
        for step in steps_of(self.cleaning, self.languages, self.held_out):
            started = time.process_time()
            leave_out = step.leave_out(*text)
            seconds = time.process_time() - started
            left = list(compress(text[0], leave_out))
            examples = examples_of(left)
            counts.append(StepCount(step.why, True, len(text[0]), len(left), examples, seconds))
            if left:
                kept = (~leave_out).tolist()
                text = list(compress(text[0], kept)), list(compress(text[1], kept))
        return text, counts

    def _punctuation(self, lines: Sequence[str], side: int) -> list[str]:
        return normalise_punctuation(lines, self.languages[side])


def _changed(
    text: Text,
    counts: list[StepCount],
    name: str,
    change: Callable[[Sequence[str], int], list[str]],
) -> Text:
    started = time.process_time()
    source, target = (change(lines, side) for side, lines in enumerate(text))
    seconds = time.process_time() - started
    both = zip(*text, source, target, strict=True)
    different = [s for s, t, new_s, new_t in both if (s, t) != (new_s, new_t)]
    examples = examples_of(different)
    counts.append(StepCount(name, False, len(source), len(different), examples, seconds))
    return source, target
