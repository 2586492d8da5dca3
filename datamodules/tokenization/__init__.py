"""Tokenizers: text to token numbers and back, with words, BPE or a class of the user."""

from datamodules.tokenization.tokenizer import BOS, EOS, MARKER, PAD, SPECIALS, UNK, Tokenizer
from datamodules.tokenization.vocabularies import Tokenizers, TokenizerSettings
from datamodules.tokenization.word_pieces import Bpe, Words, is_tag
