"""Subwords of a unigram language model (Kudo 2018, arXiv 1804.10959)."""

import io
from collections import Counter
from collections.abc import Mapping

from tokenizers import models
from typing_extensions import override

from datamodules.tokenization.tokenizer import MARKER, UNK
from datamodules.tokenization.word_pieces import WordPieces, characters_of, check_room

RESERVED = "\u2585"
"""Character that SentencePiece reads in no training text."""
DECIMALS = 6
"""Digits of a score: ``tokenizers`` writes longer numbers that it reads as slightly others."""


class Unigram(WordPieces):
    """The most probable subwords inside the pieces of ``Words``, each with its own probability.

    ``min_frequency`` is that of a character: a rarer one is unknown. SentencePiece learns the
    subwords, since the trainer of ``tokenizers`` adds numbers in random order, so that scores
    differ from one training to the next; ``tokenizers`` applies them. An unknown character keeps
    its marker.
    """

    @override
    @staticmethod
    def _learn(
        pieces: Counter[str], vocabulary_size: int, min_frequency: int, specials: list[str]
    ) -> models.Model:
        alphabet = characters_of(pieces)
        known = {one for one, count in alphabet.items() if count >= min_frequency} | {MARKER}
        check_room(vocabulary_size, len(known) + len(specials), "unigram")
        usual = known - {RESERVED}
        frequent = {piece: count for piece, count in pieces.items() if usual.issuperset(piece)}
        scores = _scores(frequent, vocabulary_size - len(specials)) if frequent else {}
        lowest = min(scores.values(), default=0.0)
        scores = dict.fromkeys(known.difference(scores), lowest) | scores
        best = sorted(scores, key=lambda piece: (len(piece) > 1, -scores[piece], piece))
        kept = best[: vocabulary_size - len(specials)]
        vocabulary = [(piece, 0.0) for piece in specials]
        return models.Unigram([*vocabulary, *((piece, scores[piece]) for piece in kept)], UNK)


def _scores(counts: Mapping[str, int], size: int) -> dict[str, float]:
    """Return the log-probability of about ``size`` subwords at most.

    The result depends on the counts alone: they are sorted, and one thread adds the numbers.
    """
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=(f"{piece}\t{counts[piece]}" for piece in sorted(counts)),
        model_writer=model,
        input_format="tsv",
        model_type="unigram",
        vocab_size=size + 1,  # with <unk>
        hard_vocab_limit=False,
        character_coverage=1.0,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        split_by_unicode_script=False,
        split_by_number=False,
        max_sentence_length=max(map(len, counts)) * 4 + 100,  # bytes of a piece and its count
        bos_id=-1,
        eos_id=-1,
        num_threads=1,
        minloglevel=3,
    )
    processor = SentencePieceProcessor(model_proto=model.getvalue())
    numbers = range(1, len(processor))
    return {
        processor.id_to_piece(number): round(processor.get_score(number), DECIMALS)
        for number in numbers
    }
