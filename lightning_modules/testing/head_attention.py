"""Attention weights of every layer and head on a few translations, for the report."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from datamodules.batching import EncodedPairs, Sequences
from datamodules.corpus import ParallelText
from datamodules.tokenization import Tokenizers
from lightning_modules.decoding import Hypothesis
from lightning_modules.metrics.lengths import Bucket
from lightning_modules.metrics.sentences import readable
from lightning_modules.runs.schema import HeadWeights
from lightning_modules.testing.forced_decoding import forced_head_weights
from lightning_modules.testing.scores import words_attention
from lightning_modules.variants import EncoderDecoder


def shown_sentences(lines: Sequence[str], buckets: Iterable[Bucket]) -> list[int]:
    """Return the numbers of the most readable sentence of all and of each bucket, each once."""
    members = [bucket.index.tolist() for bucket in buckets if len(bucket.index)]
    best = [numbers[readable([lines[number] for number in numbers])] for numbers in members]
    return list(dict.fromkeys([readable(lines), *best]))


def head_attention(
    model: EncoderDecoder,
    hypotheses: Mapping[int, Hypothesis],
    pairs: EncodedPairs,
    text: ParallelText,
    tokenizers: Tokenizers,
    decode_max_tokens: int,
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
    limit = max(decode_max_tokens, int(chosen.longest.max()))  # a translation may be longer
    for number, by_token in forced_head_weights(model, chosen, limit):
        if by_token.shape[:2].numel() == 1:
            return {}
        steps = len(hypotheses[number].tokens)
        hypothesis = hypotheses[number]._replace(weights=by_token[..., :steps, :].float().cpu())
        by_word = words_attention(hypothesis, text.source[number], tokenizers)
        assert by_word is not None
        weights[number] = by_word
    return weights
