"""A mixture of corpora: a training text with a chosen share of each."""

import hashlib
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import repeat
from typing import Annotated

from pydantic import Field, SkipValidation
from pydantic.dataclasses import dataclass
from typing_extensions import override

from datamodules.corpus import (
    Corpus,
    ParallelText,
    Split,
    add_left_out,
    check_names,
    fingerprint_of,
    join_texts,
    read_parts,
    read_split,
    set_name,
)
from datamodules.errors import UserError

log = logging.getLogger(__name__)


PART = 50_000  # training pairs of a part
_DATA = re.compile(r"(?<![\w/.])data\.")
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@dataclass(config={"arbitrary_types_allowed": True, "extra": "forbid"})
class MixtureCorpus(Corpus):
    """Corpora of the same two languages; every part of the training text has all in their shares.

    A corpus of ``n`` training pairs has a share in proportion to its weight, or to ``n ** (1 / T)``
    with the temperature ``T`` (Arivazhagan et al. 2019, section 4.1): 1 keeps the proportions of
    the sizes, a high temperature makes the shares equal. A corpus with the share ``s`` gives
    ``round(s * size)`` pairs: whole passes over its training text, then the first pairs of another.

    The validation text is that of the first corpus. The test text is that of all corpora, each a
    test set with the name of the corpus.
    """

    corpora: dict[str, SkipValidation[Corpus]]
    weights: dict[str, Positive] | None = None
    temperature: float | None = None  # 1 if there are neither weights nor a temperature
    size: int | None = None  # number of training pairs; None for the sum of the corpora's sizes
    name: str = "mixture"

    def __post_init__(self) -> None:
        """Raise ``UserError`` for corpora that do not fit together, and for wrong weights."""
        if not self.corpora:
            raise UserError("data.corpora: has no corpus; give data.corpora.NAME={...}")
        for name, corpus in self.corpora.items():
            if not isinstance(corpus, Corpus):
                raise UserError(f"data.corpora.{name}: is not a corpus; give its _target_")
            check_names(corpus)
        languages = {name: f"{each.source}-{each.target}" for name, each in self.corpora.items()}
        if len(set(languages.values())) > 1:
            shown = ", ".join(f"{name} {pair}" for name, pair in languages.items())
            raise UserError(
                f"data.corpora: the languages differ ({shown}): set their source, target"
            )
        if self.weights is not None and self.temperature is not None:
            raise UserError("data.weights and data.temperature are both given: leave one out")
        if self.weights is not None and self.weights.keys() != self.corpora.keys():
            raise UserError(
                f"data.weights: has {', '.join(self.weights)}, but the corpora are "
                f"{', '.join(self.corpora)}; give each corpus a weight"
            )
        first = next(iter(self.corpora.values()))
        self.source, self.target = first.source, first.target
        limits = [corpus.train_max_words for corpus in self.corpora.values()]
        known = [limit for limit in limits if limit is not None]
        self.train_max_words = max(known) if len(known) == len(limits) else None

    @override
    @cached_property
    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits of the corpora's fingerprints and the shares."""
        fingerprints = {}
        for name, corpus in self.corpora.items():
            with self._reading(name):
                fingerprints[name] = fingerprint_of(corpus)
        content = (fingerprints, self.weights, self.temperature, self.size)
        return hashlib.sha256(repr(content).encode()).hexdigest()[:12]

    @override
    def split(self, name: Split) -> ParallelText:
        """Return one split. Raises the errors of the corpora, which name the corpus."""
        if name == "train":
            return join_texts(list(self.parts("train")))
        if name == "val":
            first = next(iter(self.corpora))
            with self._reading(first):
                return read_split(self.corpora[first], "val")
        texts = []
        for corpus_name, corpus in self.corpora.items():
            with self._reading(corpus_name):
                texts.append(_named(corpus_name, read_split(corpus, "test")))
        _check_sets(texts)
        return join_texts(texts)

    @override
    def parts(self, name: Split) -> Iterator[ParallelText]:
        """Yield one split in parts; see ``split``."""
        if name != "train":
            yield self.split(name)
            return
        sizes, left_out = self._sizes
        wanted = self._wanted
        streams = {name: _PairStream(corpus) for name, corpus in self.corpora.items()}
        parts = -(-sum(wanted.values()) // PART)
        for number in range(parts):
            texts = []
            for corpus_name, pairs in wanted.items():
                count = pairs * (number + 1) // parts - pairs * number // parts
                with self._reading(corpus_name):
                    texts.append(streams[corpus_name].take(count))
            part = join_texts(texts)
            if number == 0:
                add_left_out(part, left_out)
                part.left_out.update(_not_drawn(sizes, wanted))
            yield part

    @cached_property
    def _sizes(self) -> tuple[dict[str, int], ParallelText]:
        """Training pairs of each corpus, and a text without sentences: which pairs are left out."""
        sizes: dict[str, int] = {}
        left_out = ParallelText([], [])
        for name, corpus in self.corpora.items():
            sizes[name] = 0
            with self._reading(name):
                for part in read_parts(corpus, "train"):
                    sizes[name] += len(part)
                    add_left_out(left_out, _prefixed(name, part))
        return sizes, left_out

    @cached_property
    def _wanted(self) -> dict[str, int]:
        sizes, _ = self._sizes
        given = self.weights or {
            name: size ** (1 / (self.temperature or 1)) for name, size in sizes.items()
        }
        total = sum(given.values())
        size = self.size or sum(sizes.values())
        wanted = {name: round(given[name] / total * size) for name in sizes}
        for name, count in wanted.items():
            log.info(
                "mixture: %s pairs of %s, %.1f%%, its %s pairs %.2f times",
                f"{count:,}", name, 100 * count / size, f"{sizes[name]:,}", count / sizes[name],
            )  # fmt: skip
        return wanted

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Name the settings of a corpus in its errors as the mixture has them."""
        try:
            yield
        except UserError as error:
            raise UserError(_DATA.sub(f"data.corpora.{name}.", str(error))) from None


def _named(name: str, text: ParallelText) -> ParallelText:
    """Return a test text as a test set with the name of its corpus, or several such."""
    named = {set_name(name, each): count for each, count in text.sets.items()}
    sets = named or {set_name(name): len(text)}
    return replace(_prefixed(name, text), sets=sets)


def _check_sets(texts: Sequence[ParallelText]) -> None:
    """Raise ``UserError`` for two test sets of one name, such as a + b-c and a-b + c."""
    names = Counter(name for text in texts for name in text.sets)
    [(name, count)] = names.most_common(1)
    if count > 1:
        raise UserError(f"data.corpora: two test sets get the name {name}; rename a corpus")


def _prefixed(name: str, text: ParallelText) -> ParallelText:
    left_out = {f"{name}: {reason}": count for reason, count in text.left_out.items()}
    examples = {f"{name}: {reason}": sources for reason, sources in text.examples.items()}
    return replace(text, left_out=left_out, examples=examples)


def _not_drawn(sizes: Mapping[str, int], wanted: Mapping[str, int]) -> dict[str, int]:
    return {
        f"{name}: not drawn": size - wanted[name]
        for name, size in sizes.items()
        if size > wanted[name]
    }


class _PairStream:
    """The training pairs of a corpus in order, again and again, a part in memory at a time."""

    def __init__(self, corpus: Corpus) -> None:
        self._parts = (
            ParallelText(part.source, part.target, part.alignments)  # left-out pairs count once
            for _ in repeat(None)
            for part in read_parts(corpus, "train")
            if len(part)
        )
        self._rest = ParallelText([], [])

    def take(self, pairs: int) -> ParallelText:
        """Return the next pairs. Raises the errors of the corpus."""
        texts = []
        while pairs:
            if not len(self._rest):
                self._rest = next(self._parts)
            piece, self._rest = self._rest.pairs(0, pairs), self._rest.pairs(pairs)
            texts.append(piece)
            pairs -= len(piece)
        return join_texts(texts)
