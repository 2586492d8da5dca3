"""How one system translates one sentence: probabilities, attention, and the tree of its search."""

import time
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from torch import Tensor

from datamodules.batching import sources_alone
from datamodules.errors import UserError
from datamodules.tokenization import BOS, EOS, SPECIALS, UNK, Tokenizer
from datamodules.tokenization.tokenizer import MARKER
from lightning_modules.decoding import SearchTree, SteppedSearch, search_with_tree
from lightning_modules.decoding.search import token_log_probabilities
from lightning_modules.tasks.translate import line_limits
from lightning_modules.testing.unknown_words import read_replacement, write_out
from lightning_modules.training.checkpoints import TrainedModel
from lightning_modules.training.factories import build_search, check_tags

MOST_BYTES = 2**16
"""Most bytes of a sentence, which are read before its tokens are counted."""
INSTEAD = 3
"""How many other tokens a step names."""


class TraceStep(NamedTuple):
    """One step of the decoder on the best hypothesis; probabilities are those of the model."""

    piece: str  # text of the token that the step has chosen
    word: int  # number of the word of the translation that it belongs to; -1 for none
    probability: float
    eos: float  # probability that the translation ends here
    eos_wins: bool  # whether no token is more probable than the end
    instead: list[tuple[str, float]]  # the most probable other tokens, best first


class BeamNode(NamedTuple):
    """A prefix of the search, see ``TreeNode``; its token is written out."""

    parent: int
    step: int
    place: int
    piece: str
    probability: float
    total: float  # log-probability of all tokens, in nats
    score: float | None


class FinishedHypothesis(NamedTuple):
    """A hypothesis that has ended."""

    text: str
    tokens: int  # EOS included
    total: float  # log-probability, in nats
    score: float  # what the search ranks it by


class Trace(NamedTuple):
    """All about one translation of one sentence."""

    text: str  # the best translation
    source: list[str]  # texts of the source tokens, EOS last
    unknown: list[str]  # those of them that the vocabulary lacks
    steps: list[TraceStep]
    is_cut: bool  # whether the length limit ended the hypothesis, not EOS
    weights: NDArray[np.float64] | None
    """Attention of each step of the search ``(steps, src)``; None for a model without attention."""
    heads: NDArray[np.float64] | None
    """Attention by layer and head ``(layers, heads, steps, src)``; None for one head or none."""
    nodes: list[BeamNode]
    best: list[int]  # numbers of the nodes of the best hypothesis
    finished: list[FinishedHypothesis]  # best first


class Tracer:
    """Translates a sentence at a time with one run and the search of ``config``.

    Raises ``UserError`` for a search without steps of its own.
    """

    def __init__(self, trained: TrainedModel, config: DictConfig) -> None:
        self._trained, self._config = trained, config
        self._source, self._target = trained.tokenizers
        search = build_search(config, trained.model, self._target)
        if not isinstance(search, SteppedSearch):
            kind = type(search).__name__
            raise UserError(
                f"decoding=: task=explore draws the steps of a search, and {kind} has none of its "
                "own; set decoding=beam"
            )
        if search.length == "reference":
            raise UserError(
                "decoding.length=reference: task=explore has no references; set "
                "decoding.length=null"
            )
        self._search, self._dictionary = search, read_replacement(config.decoding)
        self._pieces = pieces_of(self._target)

    @torch.no_grad()
    def __call__(self, sentence: str, seconds: float | None = None) -> Trace:
        """Translate; the search may take so many ``seconds``, None for any number.

        Raises ``UserError`` for a sentence that is empty, too long, or takes too long.
        """
        line, ids = self._read(sentence)
        src = torch.tensor([[*ids, EOS]])
        mask = torch.ones_like(src, dtype=torch.bool)
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            best, tree = search_with_tree(self._search, self._trained.model, src, mask, deadline)
        except TimeoutError:
            raise UserError(
                f"the search takes more than request_seconds={seconds:g}: shorten the sentence, or "
                "give request_seconds=N"
            ) from None
        logs, heads = self._forced(src, mask, best.tokens)
        pieces = [*self._source.pieces_of_line(line), SPECIALS[EOS]]
        source = [piece or MARKER for piece in pieces]
        weights = best.weights
        return Trace(
            text=write_out([best], [line], self._trained.tokenizers, self._dictionary)[0][0],
            source=source,
            unknown=[piece for piece, token in zip(source, ids, strict=False) if token == UNK],
            steps=self._steps(best.tokens, logs),
            is_cut=best.tokens[-1] != EOS,
            weights=None if weights is None else weights.double().numpy(),
            heads=heads,
            nodes=self._nodes(tree),
            best=tree.path(tree.finished[0]),
            finished=self._finished(tree),
        )

    def _read(self, sentence: str) -> tuple[str, list[int]]:
        """Return a sentence as the training text has sentences, and its tokens."""
        letters = sentence.encode(errors="replace")  # JSON may hold half of a letter
        if len(letters) > MOST_BYTES:
            raise UserError(f"the sentence has more than {MOST_BYTES:,} bytes: shorten it")
        trained = self._trained
        [line] = trained.cleaning.lines([" ".join(letters.decode().split())], trained.languages[0])
        if not line.strip():
            raise UserError("the sentence is empty: write some words")
        encoded = self._source.encode([line])
        for limit in line_limits([trained], self._config):
            limit.check(len(encoded[0]) + 1, "the sentence has")
        check_tags(trained.config, self._source, {"given": sources_alone(encoded)})
        return line, encoded[0]

    def _forced(
        self, src: Tensor, mask: Tensor, tokens: list[int]
    ) -> tuple[Tensor, NDArray[np.float64] | None]:
        """Return log-probabilities ``(steps, vocabulary)`` and the weights of heads, forced."""
        model = self._trained.model
        memory, tgt_in = model.encode(src, mask), torch.tensor([[BOS, *tokens[:-1]]])
        logs = token_log_probabilities(model, model.decode(memory, tgt_in).features[0])
        heads = model.head_weights(memory, tgt_in)
        if heads is None or heads.shape[1] * heads.shape[2] == 1:
            return logs, None
        return logs, heads[0].double().numpy()

    def _steps(self, tokens: list[int], logs: Tensor) -> list[TraceStep]:
        probabilities = logs.exp()
        best, ids = probabilities.topk(min(INSTEAD + 1, logs.shape[1]))
        steps = []
        for place, (token, word) in enumerate(
            zip(tokens, self._target.words_of_tokens(tokens), strict=True)
        ):
            ranked = zip(ids[place].tolist(), best[place].tolist(), strict=True)
            others = [(self._pieces[each], p) for each, p in ranked if each != token]
            steps.append(
                TraceStep(
                    piece=self._pieces[token],
                    word=word,
                    probability=float(probabilities[place, token]),
                    eos=float(probabilities[place, EOS]),
                    eos_wins=int(ids[place, 0]) == EOS,
                    instead=others[:INSTEAD],
                )
            )
        return steps

    def _nodes(self, tree: SearchTree) -> list[BeamNode]:
        return [
            BeamNode(
                node.parent,
                node.step,
                node.place,
                self._pieces[node.token],
                float(np.exp(node.log_probability)),
                node.total,
                node.score,
            )
            for node in tree.nodes
        ]

    def _finished(self, tree: SearchTree) -> list[FinishedHypothesis]:
        tokens = [tree.tokens(number) for number in tree.finished]
        nodes = [tree.nodes[number] for number in tree.finished]
        return [
            FinishedHypothesis(text, len(ids), node.total, node.score or 0.0)
            for text, ids, node in zip(self._target.decode(tokens), tokens, nodes, strict=True)
        ]


def pieces_of(tokenizer: Tokenizer) -> list[str]:
    """Return the text of each token as readers see it; a lone marker of a word shows itself."""
    surfaces = tokenizer.surfaces[len(SPECIALS) :]
    return [*SPECIALS, *(surface or MARKER for surface in surfaces)]
