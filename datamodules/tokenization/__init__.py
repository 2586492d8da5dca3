"""Tokenizers: text to token numbers and back, words, subwords, characters, bytes."""

from datamodules.tokenization.byte_tokens import Bytes
from datamodules.tokenization.characters import Characters
from datamodules.tokenization.sentence_pieces import SentencePieces
from datamodules.tokenization.settings import TokenizerSettings
from datamodules.tokenization.tokenizer import BOS, EOS, MARKER, PAD, SPECIALS, UNK, Tokenizer
from datamodules.tokenization.unigram import Unigram
from datamodules.tokenization.vocabularies import Tokenizers
from datamodules.tokenization.word_pieces import Bpe, Words, is_tag
