"""Blocks of a W&B report, described without W&B."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Lines:
    """A list of lines of text."""

    items: Sequence[str]


@dataclass(frozen=True)
class Pictures:
    """Figures of the comparison, by name."""

    names: Sequence[str]


@dataclass(frozen=True)
class Tables:
    """Tables of the comparison, by name."""

    names: Sequence[str]


@dataclass(frozen=True)
class LengthCurves:
    """BLEU of the runs against length, and bars of their BLEU, as the server draws them."""

    axis: str
    """Title of the axis of lengths."""


@dataclass(frozen=True)
class RunTable:
    """The table of the compared runs, and what they differ in."""


@dataclass(frozen=True)
class RunCurves:
    """Logged measures of the runs against updates."""

    measures: Sequence[str]


@dataclass(frozen=True)
class RunMedia:
    """Logged pictures of the runs, side by side."""

    titles: Mapping[str, str]
    """Titles by the names of the logged pictures."""


@dataclass(frozen=True)
class TrialPlots:
    """Settings, importances and BLEU of the trials of one study."""

    study: str
    settings: Sequence[str]


Block = Lines | Pictures | Tables | LengthCurves | RunTable | RunCurves | RunMedia | TrialPlots
