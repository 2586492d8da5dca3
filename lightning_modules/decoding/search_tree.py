"""The prefixes that a search has kept, as a tree, for one sentence."""

import time
from typing import NamedTuple

from torch import Tensor

from lightning_modules.decoding.search import Hypothesis, HypothesisEnd, token_log_probabilities
from lightning_modules.decoding.stepped import SearchStep, SteppedSearch
from lightning_modules.variants.base import EncoderDecoder

ROOT = -1
"""Number of the empty prefix, from which every tree grows."""


class TreeNode(NamedTuple):
    """A prefix that a step has kept, or a hypothesis that ends there."""

    parent: int  # number of the node that it continues, or `ROOT`
    step: int  # position of its last token, from 0
    place: int  # place among those that the step has chosen, from 0: a beam has its best first
    token: int  # last token
    log_probability: float  # of the last token after the others, by the model alone, in nats
    total: float  # sum of the log-probabilities of all tokens
    score: float | None  # what the search ranks a hypothesis by; None for a prefix that has no end


class SearchTree:
    """The tree of one sentence, which grows while its search is watched.

    Args:
        model: the model of the search.
        search: the search that is watched.
        deadline: value of ``time.monotonic()`` after which a step raises ``TimeoutError``.
    """

    def __init__(
        self, model: EncoderDecoder, search: SteppedSearch, deadline: float | None = None
    ) -> None:
        self.nodes: list[TreeNode] = []
        self._model, self._search, self._deadline = model, search, deadline
        # The node of each row of the last step that has a prefix; None before the first step.
        self._rows: dict[int, int] | None = None

    def add(self, step: SearchStep) -> None:
        """Add the prefixes that a step has chosen, of a batch of one sentence."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise TimeoutError
        logs = token_log_probabilities(self._model, step.features)
        ended, _, *others = (column.flatten().tolist() for column in step.chosen)
        going, rows = step.going.flatten().tolist(), {}
        for place, (row, token, total) in enumerate(zip(*others, strict=True)):
            parent = ROOT if self._rows is None else self._rows.get(row)
            if parent is None or not (ended[place] or going[place]):
                continue  # no prefix, or one that cannot matter any more
            if going[place]:
                rows[place] = len(self.nodes)
            self.nodes.append(
                self._node(parent, step.position, place, token, logs[row], total, ended[place])
            )
        self._rows = rows

    def _node(
        self,
        parent: int,
        position: int,
        place: int,
        token: int,
        logs: Tensor,
        total: float,
        ended: bool,
    ) -> TreeNode:
        log_probability, score = float(logs[token]), None
        if ended:
            [end] = self._search.ranked([HypothesisEnd(position, place, token, total)])
            score = end.score
        before = 0.0 if parent == ROOT else self.nodes[parent].total
        return TreeNode(
            parent, position, place, token, log_probability, before + log_probability, score
        )

    @property
    def finished(self) -> list[int]:
        """Numbers of the nodes where a hypothesis ends, the best score first."""
        scores = {n: node.score for n, node in enumerate(self.nodes) if node.score is not None}
        return sorted(scores, key=lambda number: -scores[number])

    def path(self, number: int) -> list[int]:
        """Return the numbers of the nodes that lead to a node, and its own, from the first on."""
        numbers: list[int] = []
        while number != ROOT:
            numbers.append(number)
            number = self.nodes[number].parent
        return numbers[::-1]

    def tokens(self, number: int) -> list[int]:
        """Return the tokens of the prefix of a node."""
        return [self.nodes[each].token for each in self.path(number)]


def search_with_tree(
    search: SteppedSearch,
    model: EncoderDecoder,
    src: Tensor,
    src_mask: Tensor,
    deadline: float | None = None,
) -> tuple[Hypothesis, SearchTree]:
    """Return the best hypothesis of one sentence, ``(1, src)``, and the tree that led to it.

    Raises ``TimeoutError`` at the first step after ``deadline``, see ``SearchTree``.
    """
    tree = SearchTree(model, search, deadline)
    search.watch = tree.add
    try:
        [[best, *_]] = search(model, src, src_mask)
    finally:
        search.watch = None
    return best, tree
