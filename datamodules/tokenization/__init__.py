"""Tokenizers: text to token numbers and back, words, subwords, characters, bytes."""

from datamodules.tokenization.sentence_pieces import Bytes, SentencePieces
from datamodules.tokenization.tokenizer import BOS, EOS, MARKER, PAD, SPECIALS, UNK, Tokenizer
from datamodules.tokenization.vocabularies import Tokenizers, TokenizerSettings
from datamodules.tokenization.word_pieces import Bpe, Characters, Unigram, Words, is_tag
