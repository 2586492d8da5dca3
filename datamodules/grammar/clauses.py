"""Clauses of an exact number of English words: frames of slots, and how each frame is written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from datamodules.grammar import lexicon
from datamodules.grammar.lexicon import ANIMATE, Fixed, Verb
from datamodules.grammar.nominals import Lead, NounForm, adjectives, lead
from datamodules.grammar.phrase import Phrase, fixed, phrase
from datamodules.grammar.verb_groups import MODES, Clitic, Mode, mode_words
from datamodules.grammar.zipf import ExactLength, Option, Table, zipf, zipf_weights
