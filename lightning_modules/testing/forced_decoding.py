"""Forced decoding: the attention of a model that is made to produce given translations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from datamodules.batching import Batch, DecodingBatchSampler, EncodedPairs, Sequences, decode_tokens
from datamodules.corpus import ParallelText
from datamodules.tokenization import EOS, Tokenizers
from lightning_modules.decoding import Hypothesis
from lightning_modules.metrics import ends, word_alignment
from lightning_modules.metrics.lengths import Bucket
from lightning_modules.metrics.metric import Array, Statistics
from lightning_modules.metrics.sentences import most_readable
from lightning_modules.metrics.words import WordRule
from lightning_modules.runs.schema import HeadWeights
from lightning_modules.testing.scoring import StepRule
from lightning_modules.variants import EncoderDecoder

Step = Literal["predicted", "read"]
"""Decoder step that gives a word its weights: the step predicts the word, or reads the word."""


class ForcedSentence(NamedTuple):
    """Weights and losses of a reference's tokens, EOS included, under forced decoding."""

    id: int  # the sentence's index in its split
    weights: Tensor | None
    """``(tgt, src)`` on the CPU, padded as the sentence's batch; None where none are kept."""
    nats: NDArray[np.float64]  # negative log-likelihood of each token, `(tgt,)`, without padding
    eos_nats: NDArray[np.float64] | None = None  # that of EOS at each position; None if not kept


class ForcedDecoding(pl.LightningModule):
    """Force a model to produce given translations, for ``Trainer.predict``.

    Without ``weights`` only the losses are kept. With ``ends`` the probability of EOS at each
    position is computed too.
    """

    def __init__(self, model: EncoderDecoder, weights: bool = True, ends: bool = False) -> None:
        super().__init__()
        self.model = model
        self.keeps_weights = weights
        self.keeps_ends = ends

    def predict_step(self, batch: Batch, batch_idx: int = 0) -> list[ForcedSentence]:
        """Return weights and losses of the translations of a batch."""
        memory = self.model.encode(*batch.source)
        features, weights = self.model.decode(memory, batch.tgt_in)
        kept = weights if self.keeps_weights else None
        rows = [None] * len(batch.ids) if kept is None else kept.float().cpu()
        real, tokens = batch.real_targets(features)
        nats = self._by_sentence(batch, real, tokens)
        eos: Sequence[NDArray[np.float64] | None] = [None] * len(batch.ids)
        if self.keeps_ends:
            eos = self._by_sentence(batch, real, torch.full_like(tokens, EOS))
        parts = zip(batch.ids.tolist(), rows, nats, eos, strict=True)
        return [ForcedSentence(*part) for part in parts]

    def _by_sentence(
        self, batch: Batch, features: Tensor, tokens: Tensor
    ) -> list[NDArray[np.float64]]:
        """Return the nats of tokens ``(positions,)`` at all real positions of each sentence."""
        nats = self.model.token_losses(features, tokens).detach().cpu().double().numpy()
        return np.split(nats, np.cumsum(batch.lengths[1])[:-1])


def likelihood(forced: Iterable[ForcedSentence]) -> Array:
    """Return nats and tokens of each sentence, ``(sentences, 2)``."""
    return np.array([(one.nats.sum(), len(one.nats)) for one in forced], np.float64)


def forced_statistics(
    forced: Sequence[ForcedSentence], text: ParallelText, tokenizers: Tokenizers, step: Step
) -> Statistics:
    """Return each sentence's counts for perplexity and alignment error, in the split's order.

    ``likelihood`` counts nats and tokens; ``eos`` are the counts of ``metrics.ends``, where the
    probability of EOS was computed; ``links`` compares the strongest link of each reference word
    with the gold alignment (Luong et al. 2015, section 5.4), and is missing for a model without
    attention or a corpus without gold links.
    """
    counts = {"likelihood": likelihood(forced)}
    eos = [one.eos_nats for one in forced if one.eos_nats is not None]
    if eos:
        counts[ends.COUNTS] = ends.end_counts(eos)
    if text.alignments is None or any(one.weights is None for one in forced):
        return counts
    links = [
        word_alignment.hard_alignment(
            merge_words(
                weights_at(step, one.weights), text.source[one.id], text.target[one.id], tokenizers
            )
        )
        for one in forced
        if one.weights is not None
    ]
    gold = [word_alignment.parse_gold(text.alignments[one.id]) for one in forced]
    return counts | {"links": word_alignment.alignment_statistics(links, gold).astype(np.float64)}


def forced_head_weights(
    model: EncoderDecoder, pairs: EncodedPairs, decode_max_tokens: int | None
) -> Iterator[tuple[int, Tensor]]:
    """Yield for each pair its id and all weights ``(layers, heads, tgt, src)``, with padding.

    Yields nothing for a model without attention. Raises ``UserError`` of ``DecodingBatchSampler``.
    """
    for rows in DecodingBatchSampler(pairs, decode_max_tokens):
        batch = pairs[rows]
        with torch.no_grad():
            memory = model.encode(*batch.source)
            weights = model.head_weights(memory, batch.tgt_in)
        if weights is None:
            return
        yield from zip(batch.ids.tolist(), weights, strict=True)


def step_by_rule(rule: StepRule, model: EncoderDecoder) -> Step:
    """Return the step that ``rule`` chooses for ``model``.

    ``footnote14`` is the rule of Luong et al. 2015, footnote 14: content-based scores align the
    word that is read, and the location score aligns the word that is predicted.
    """
    if rule == "footnote14":
        return "read" if model.is_content_based else "predicted"
    return rule


def weights_at(step: Step, weights: Tensor) -> Tensor:
    """Give each target token its weights: ``(…, tgt, src)`` by step -> ``(…, tgt, src)`` by token.

    Step t reads token t - 1 and predicts token t. No step reads EOS: with ``read``, the weights of
    EOS are zero.
    """
    return weights if step == "predicted" else pad(weights[..., 1:, :], (0, 0, 0, 1))


def merge_words(weights: Tensor, source: str, target: str, tokenizers: Tokenizers) -> Array:
    """Merge token weights, padded or not: ``(…, tgt, src) -> (…, tgt words, src words)``."""
    return _merged(weights, source, [*tokenizers.target.words_of_line(target), -1], tokenizers)


def words_attention(hypothesis: Hypothesis, source: str, tokenizers: Tokenizers) -> Array | None:
    """Merge a hypothesis's weights to ``(…, tgt words, src words)``; None without attention."""
    if hypothesis.weights is None:
        return None
    tgt_words = tokenizers.target.words_of_tokens(hypothesis.tokens)
    return _merged(hypothesis.weights, source, tgt_words, tokenizers)


def _merged(
    weights: Tensor, source: str, tgt_words: Sequence[int], tokenizers: Tokenizers
) -> Array:
    src_words = [*tokenizers.source.words_of_line(source), -1]  # EOS belongs to no word
    real = weights[..., : len(tgt_words), : len(src_words)]
    return word_alignment.word_weights(real.numpy(), src_words, tgt_words)


def shown_sentences(lines: Sequence[str], rule: WordRule, buckets: Iterable[Bucket]) -> list[int]:
    """Return the numbers of the most readable sentence of all and of each bucket, each once."""
    members = [bucket.index.tolist() for bucket in buckets if len(bucket.index)]
    best = [
        numbers[most_readable([lines[number] for number in numbers], rule)] for numbers in members
    ]
    return list(dict.fromkeys([most_readable(lines, rule), *best]))


def head_attention(
    model: EncoderDecoder,
    hypotheses: Mapping[int, Hypothesis],
    pairs: EncodedPairs,
    text: ParallelText,
    tokenizers: Tokenizers,
    decode_max_tokens: int | None,
) -> HeadWeights:
    """Force a model through its ``hypotheses`` for some sentences of ``pairs``, a whole split.

    Returns nothing for a model with one head or no head: the search gave these weights already.
    """
    rows = np.array(list(hypotheses), dtype=np.int64)
    # The last token (EOS, or the token at the length limit) is predicted but not read.
    targets = Sequences.of([each.tokens[:-1] for each in hypotheses.values()])
    chosen = EncodedPairs(pairs.ids[rows], pairs.src.select(rows), targets)
    model.eval()
    weights: HeadWeights = {}
    # A translation may be longer.
    limit = max(decode_tokens(decode_max_tokens), int(chosen.longest.max()))
    for number, by_token in forced_head_weights(model, chosen, limit):
        if by_token.shape[:2].numel() == 1:
            return {}
        steps = len(hypotheses[number].tokens)
        hypothesis = hypotheses[number]._replace(weights=by_token[..., :steps, :].float().cpu())
        by_word = words_attention(hypothesis, text.source[number], tokenizers)
        assert by_word is not None
        weights[number] = by_word
    return weights
