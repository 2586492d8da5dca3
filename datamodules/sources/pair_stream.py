"""Pairs of a training text without end, and pieces of text put together."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from datamodules.corpus import Corpus, ParallelText, add_left_out, read_parts


class PairStream:
    """The training pairs of a corpus in order, again and again, a part in memory at a time."""

    def __init__(self, corpus: Corpus) -> None:
        self._parts = _passes(corpus)
        self._rest = ParallelText([], [])

    def take(self, count: int) -> ParallelText:
        """Return the next ``count`` pairs. Raises the errors of the corpus."""
        texts = []
        while count:
            if not len(self._rest):
                self._rest = next(self._parts)
            piece, self._rest = _cut(self._rest, 0, count), _cut(self._rest, count, None)
            texts.append(piece)
            count -= len(piece)
        return joined(texts)


def joined(texts: Sequence[ParallelText]) -> ParallelText:
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
    return replace(whole, sets=dict(sets))


def _passes(corpus: Corpus) -> Iterator[ParallelText]:
    while True:
        yield from (part for part in read_parts(corpus, "train") if len(part))


def _cut(text: ParallelText, first: int, end: int | None) -> ParallelText:
    kept = slice(first, end)
    links = None if text.alignments is None else text.alignments[kept]
    return ParallelText(text.source[kept], text.target[kept], links)
