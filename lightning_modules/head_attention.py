"""The weights of every layer and head on a few translations, to be looked at one by one."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from datamodules.batching import EncodedPairs, Sequences
from datamodules.corpus import ParallelText
from datamodules.tokenization import Tokenizers
from lightning_modules.decoding import Hypothesis
from lightning_modules.forced import forced_head_weights
from lightning_modules.metrics.lengths import Bucket
from lightning_modules.metrics.sentences import readable
from lightning_modules.run_records import HeadWeights
from lightning_modules.scoring import words_attention
from lightning_modules.variants import EncoderDecoder


def shown_sentences(lines: Sequence[str], buckets: Iterable[Bucket]) -> list[int]:
    """Numbers of the most readable sentence of all, and of each length bucket; each once."""
    own = [bucket.index.tolist() for bucket in buckets if len(bucket.index)]
    best = [numbers[readable([lines[number] for number in numbers])] for numbers in own]
    return list(dict.fromkeys([readable(lines), *best]))


def head_attention(
    model: EncoderDecoder,
    found: Mapping[int, Hypothesis],
    pairs: EncodedPairs,
    text: ParallelText,
    tokenizers: Tokenizers,
    decode_max_tokens: int,
) -> HeadWeights:
    """Force a model through what it ``found`` for some sentences of ``pairs``, a whole split.

    Nothing for a model with a single head or none, whose weights are those of the search.
    """
    rows = np.array(list(found), dtype=np.int64)
    # The last token, EOS or that at which the limit cut, is predicted and not read.
    targets = Sequences.of([found[number].tokens[:-1] for number in found])
    chosen = EncodedPairs(pairs.ids[rows], pairs.src.select(rows), targets)
    model.eval()
    weights: HeadWeights = {}
    for number, by_token in forced_head_weights(model, chosen, decode_max_tokens):
        if by_token.shape[:2].numel() == 1:
            return {}
        steps = len(found[number].tokens)
        hypothesis = found[number]._replace(weights=by_token[..., :steps, :].float().cpu())
        by_word = words_attention(hypothesis, text.source[number], tokenizers)
        assert by_word is not None
        weights[number] = by_word
    return weights
