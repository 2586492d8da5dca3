"""The interface of a corpus: named splits of line-aligned sentences, and a fingerprint."""

import hashlib
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from datamodules.contrast_pairs import ContrastPair
from datamodules.errors import UserError
from datamodules.plugs import calling

EXAMPLES = 3
LONGEST_EXAMPLE = 80
Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = ("train", "val", "test")
USABLE_NAME = re.compile(r"\w[\w+.-]*")  # names that files may have


def examples_of(lines: Iterable[str]) -> list[str]:
    """Return the first different lines, shortened."""
    found: dict[str, None] = {}
    for line in lines:
        short = line if len(line) <= LONGEST_EXAMPLE else f"{line[: LONGEST_EXAMPLE - 1]}…"
        found[short] = None
        if len(found) == EXAMPLES:
            break
    return list(found)


@dataclass(frozen=True)
class ParallelText:
    """One split: ``source[i]`` is translated by ``target[i]``.

    A *word* of an alignment is a whitespace-separated piece of a line. ``alignments``
    holds the gold word alignments, if the corpus has any: for each sentence one line of Pharaoh
    pairs (``0-0 1-2``, source word then target word, counted from 0; ``1?2`` is a possible link).
    ``further_references`` has the references of each sentence besides ``target``, any number.
    ``left_out`` counts the excluded pairs by reason; ``examples`` has the first sources of these
    pairs. ``seen`` of the training text tells, by name, which share of the test set's parts also
    occur in training, from 0 to 1. ``sets`` of the test
    text tells, in order, the name and the number of sentences of each test set that the text is
    made of; nothing for one test set without a name.
    """

    source: list[str]
    target: list[str]
    alignments: list[str] | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)
    sets: dict[str, int] = field(default_factory=dict)
    further_references: list[list[str]] | None = None

    def __len__(self) -> int:
        return len(self.source)

    def pairs(self, first: int, end: int | None = None) -> "ParallelText":
        """Return the pairs from ``first`` to before ``end``, with all that the text tells."""
        rows = slice(first, end)
        links = None if self.alignments is None else self.alignments[rows]
        further = None if self.further_references is None else self.further_references[rows]
        return replace(
            self,
            source=self.source[rows],
            target=self.target[rows],
            alignments=links,
            further_references=further,
        )


class Corpus(ABC):
    """A parallel corpus in one direction, built by Hydra from a file of ``conf/data``."""

    name: str  # name of the corpus in results, and of its folders in ``cache_dir``
    source: str  # source language, as a two-letter code
    target: str  # target language, as a two-letter code
    limit: int | None = None  # most training pairs that are read, from the first; None for all
    generated: bool = False  # whether a program writes the sentences: their languages are sure
    train_max_words: int | None = None  # limit on the words of a training sentence

    @abstractmethod
    def split(self, name: Split) -> ParallelText:
        """Read or generate one split. Raises ``UserError`` if the text is wrong."""

    def parts(self, name: Split) -> Iterator[ParallelText]:
        """Yield a split in parts of neighbouring pairs, always the same; here all at once.

        A class for a large corpus overrides this method, so that a split does not fill the memory.
        """
        yield self.split(name)

    def contrastive_pairs(self) -> list[ContrastPair]:
        """Write contrastive pairs, for ``task=contrast``; none by default."""
        return []

    @property
    def fingerprint(self) -> str:
        """Return a text that changes with any sentence of any split: here a hash of all splits.

        A class with a quicker way overrides this property, which every start of the program reads.
        """
        digest = hashlib.sha256()
        for name in SPLITS:
            text = read_split(self, name)
            digest.update(repr((text.source, text.target, text.alignments)).encode())
            if text.sets:
                digest.update(repr(text.sets).encode())
            if text.further_references is not None:
                digest.update(repr(text.further_references).encode())
        return digest.hexdigest()[:12]


def no_pairs(corpus: Corpus, asked: str, instead: str) -> UserError:
    """Return the error of ``asked``, for a corpus that writes no contrastive pairs."""
    return UserError(f"{asked}: {corpus.name} writes no contrastive pairs; give {instead}")


def check_names(corpus: Corpus) -> None:
    """Raise ``UserError`` unless a corpus has a name and two languages."""
    for key in ("name", "source", "target"):
        _check_text(corpus, key, getattr(corpus, key, None))


def fingerprint_of(corpus: Corpus) -> str:
    """Return the fingerprint of a corpus. Raises ``UserError`` if the fingerprint is not text."""
    fingerprint = _check_text(corpus, "fingerprint", corpus.fingerprint)
    return fingerprint if corpus.limit is None else f"{fingerprint}-{corpus.limit}"


def read_split(corpus: Corpus, name: Split) -> ParallelText:
    """Return one split.

    Raises ``UserError`` if it does not hold pairs of sentences, or if the user's class fails.
    """
    call = f"{_setting(corpus)}: {type(corpus).__name__}.split('{name}')"
    with calling(call):
        text = _checked(corpus.split(name), call)
    if not len(text):
        raise UserError(f"{call} has no sentences")
    return text


def read_parts(corpus: Corpus, name: Split) -> Iterator[ParallelText]:
    """Yield the parts of a split.

    Raises ``UserError`` if there are no pairs of sentences, or if the user's class fails.
    """
    method = "split" if type(corpus).parts is Corpus.parts else "parts"
    call = f"{_setting(corpus)}: {type(corpus).__name__}.{method}('{name}')"
    pairs = 0
    limit = corpus.limit if name == "train" else None
    with calling(call):
        for part in corpus.parts(name):
            text = _checked(part, call)
            room = len(text) if limit is None else limit - pairs
            yield text if room >= len(text) else text.pairs(0, room)
            pairs += len(text)
            if limit is not None and pairs >= limit:
                break
    if not pairs:
        raise UserError(f"{call} has no sentences")


def set_name(*parts: str) -> str:
    """Return a name for a test set that files may have: ``wmt14/full`` becomes ``wmt14-full``."""
    return re.sub(r"[^\w+.]+", "-", "-".join(parts)).strip("-.")


def check_sets(text: ParallelText, place: str) -> None:
    """Raise ``UserError`` unless the named sets make up the test text, with names for files."""
    for name in text.sets:
        if not USABLE_NAME.fullmatch(name):
            raise UserError(f"{place}: a set is named {name!r}; give letters, digits and + . -")
    if text.sets and sum(text.sets.values()) != len(text):
        raise UserError(
            f"{place} has {len(text)} sentences, but its test sets have {sum(text.sets.values())}"
        )


def add_left_out(totals: ParallelText, text: ParallelText) -> None:
    """Add to ``totals`` which pairs ``text`` leaves out."""
    for reason, count in text.left_out.items():
        totals.left_out[reason] = totals.left_out.get(reason, 0) + count
    for reason, sources in text.examples.items():
        kept = totals.examples.setdefault(reason, [])
        kept[:] = examples_of([*kept, *sources])


def join_texts(texts: Sequence[ParallelText]) -> ParallelText:
    """Put texts one after the other; gold links remain if all texts have gold links."""
    filled = [text for text in texts if len(text)]
    links = [text.alignments for text in filled if text.alignments is not None]
    sets: Counter[str] = Counter()
    whole = ParallelText(
        [line for text in filled for line in text.source],
        [line for text in filled for line in text.target],
        [line for lines in links for line in lines] if len(links) == len(filled) else None,
    )
    for text in texts:
        add_left_out(whole, text)
        sets.update(text.sets)
    if any(text.further_references is not None for text in filled):
        lists = (text.further_references or [[]] * len(text) for text in filled)
        whole = replace(whole, further_references=[lines for each in lists for lines in each])
    return replace(whole, sets=dict(sets))


def _checked(text: object, call: str) -> ParallelText:
    if not isinstance(text, ParallelText):
        raise UserError(f"{call} returns {type(text).__name__}, but ParallelText is needed")
    sides = {"source": text.source, "target": text.target}
    if text.alignments is not None:
        sides["alignments"] = text.alignments
    if text.further_references is not None:
        sides["further_references"] = list(map("\n".join, text.further_references))
    for side, lines in sides.items():
        if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
            raise UserError(
                f"{call} has a {side} that is not a list of texts; give one for each sentence"
            )
        if len(lines) != len(text):
            raise UserError(f"{call} has {len(text)} source but {len(lines)} {side} sentences")
    check_sets(text, call)
    return text


def _check_text(corpus: Corpus, key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        name = type(corpus).__name__
        raise UserError(f"{_setting(corpus)}: {name}.{key} is {value!r}, but a text is needed")
    return value


def _setting(corpus: Corpus) -> str:
    return f"data._target_={type(corpus).__module__}.{type(corpus).__qualname__}"
