"""``task=translate``: translate text with a trained run, one sentence a line."""

import gzip
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain, islice
from pathlib import Path
from select import select
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from torch.nn.utils.rnn import pad_sequence

from datamodules.batching import batches_of, decode_tokens, sources_alone
from datamodules.errors import UserError
from datamodules.files import STREAM, check_outputs, whole_file
from datamodules.lines import decode_lines, read_blocks
from datamodules.tokenization import PAD, UNK
from lightning_modules.decoding import Hypothesis
from lightning_modules.decoding.ctranslate2_engine import Ctranslate2Engine
from lightning_modules.metrics.word_alignment import (
    format_pharaoh,
    format_soft_pharaoh,
    hard_alignment,
)
from lightning_modules.runs.job import search_in_words
from lightning_modules.runs.setting_checks import check_arguments
from lightning_modules.tasks.progress import Advance, sentence_count
from lightning_modules.testing.forced_decoding import words_attention
from lightning_modules.testing.unknown_words import (
    Dictionary,
    all_unknown,
    read_replacement,
    write_out,
)
from lightning_modules.training.checkpoints import TrainedModel, load_runs
from lightning_modules.training.factories import build_search, check_tags
from lightning_modules.training.process import prepare_process
from lightning_modules.variants import Ensemble

log = logging.getLogger(__name__)

CHUNK = 1_000  # lines that are translated before the first of them is written
READ = 2**16  # bytes of standard input that are read at once
ALIGNED: dict[str, Callable[[np.ndarray], str]] = {
    "alignments": lambda weights: format_pharaoh(hard_alignment(weights)),
    "soft_alignments": format_soft_pharaoh,
}
"""Formats of word alignments, by the setting that names the file."""
FindHypotheses = Callable[..., list[list[Hypothesis]]]
"""A search: from a model, source tokens and their mask to the hypotheses of each sentence."""


def translate(config: DictConfig) -> None:
    """Task: translate ``config.input`` to ``config.output``; an empty line stays empty.

    Each chunk of lines is written once it is translated. Raises ``UserError`` for a checkpoint or
    text that cannot be used, or if alignments are asked of a model without attention.
    """
    outputs = {name: config[name] for name in ("output", *ALIGNED)}
    check_outputs(outputs, {"input": config.input, "prefix": config.prefix})
    prepare_process(config)
    check_arguments(config)
    asked = [option for option in ALIGNED if config[option] is not None]
    if asked and config.engine != "torch":
        raise UserError(f"{asked[0]}=: engine={config.engine} gives no weights; set engine=torch")
    if config.prefix is not None and config.engine != "torch":
        raise UserError(f"prefix=: engine={config.engine} forces none; set engine=torch")
    dictionary = read_replacement(config.decoding)
    runs = load_runs(config.checkpoint)
    need_weights = bool(asked) or dictionary is not None
    trained, translator = runs[0], LineTranslator(runs, config, need_weights)
    clean = trained.cleaning.aligned_lines if asked else trained.cleaning.lines
    prefixes = None if config.prefix is None else PrefixFile(config.prefix)
    # A pipe, such as /dev/stdin, can be read only once.
    again = config.input != STREAM and Path(config.input).is_file()
    total = translator.check_file() if again else None
    # Translations in a terminal show themselves how far they are.
    bar = config.output != STREAM or not sys.stdout.isatty()
    started, done, several = time.monotonic(), 0, config.decoding.get("n_best", 1) > 1
    with (
        ExitStack() as files,  # all files are written before the first replaces an old one
        sentence_count("translating", total, "lines", bar) as advance,
    ):
        write = {name: _writer(config[name], files) for name in ("output", *asked)}
        for given in read_chunks(config.input):
            lines = clean(given, trained.languages[0])
            begun = None if prefixes is None else prefixes.of_lines(len(lines))
            translations = translator(lines, done, advance, begun)
            for option in asked:
                write[option](align(trained, lines, translations, option))
            write["output"](output_lines(trained, lines, translations, dictionary, done, several))
            done += len(lines)
        if prefixes is not None:
            prefixes.check_end()
    if warning := translator.warning:
        log.warning("%s", warning)
    seconds, search = time.monotonic() - started, search_in_words(config.decoding)
    log.info("%s lines translated in %.1f s by %s", f"{done:,}", seconds, search)


def _writer(name: str, files: ExitStack) -> Callable[[Iterable[str]], None]:
    """Return what writes lines to a file, or at once to standard output, as UTF-8."""
    if name == STREAM:
        stream: Any = sys.stdout.buffer
    else:
        path = files.enter_context(whole_file(name))
        stream = files.enter_context(path.open("wb"))
        if str(name).endswith(".gz"):
            stream = files.enter_context(gzip.GzipFile(fileobj=stream, mode="wb"))

    def write(lines: Iterable[str]) -> None:
        stream.write("".join(f"{line}\n" for line in lines).encode())
        stream.flush()

    return write


def output_lines(
    trained: TrainedModel,
    lines: Sequence[str],
    translations: Sequence[list[Hypothesis]],
    dictionary: Dictionary | None,
    before: int,
    several: bool,
) -> Iterator[str]:
    """Yield the output: a line each, or with ``several``, ``line ||| hypothesis ||| score``.

    ``before`` is the number of lines before the first.
    """
    several = several or any(len(hypotheses) > 1 for hypotheses in translations)
    texts_by_line = texts_of(trained, lines, translations, dictionary)
    for number, (texts, hypotheses) in enumerate(
        zip(texts_by_line, translations, strict=True), before
    ):
        if not several:
            yield texts[0] if texts else ""
            continue
        for text, hypothesis in zip(texts, hypotheses, strict=True):
            yield f"{number} ||| {text} ||| {hypothesis.score:.4f}"


def texts_of(
    trained: TrainedModel,
    lines: Sequence[str],
    translations: Sequence[list[Hypothesis]],
    dictionary: Dictionary | None,
) -> list[list[str]]:
    """Return the texts of the hypotheses of each line, in the same order."""
    ranked = [hypothesis for hypotheses in translations for hypothesis in hypotheses]
    sources = [line for line, each in zip(lines, translations, strict=True) for _ in each]
    texts = iter(write_out(ranked, sources, trained.tokenizers, dictionary)[0])
    return [[next(texts) for _ in hypotheses] for hypotheses in translations]


class TranslatedLine(NamedTuple):
    """A line with its translations, best first; an empty line has none."""

    source: str  # cleaned as the training text was
    texts: list[str]
    scores: list[float]  # of the search, which ranks by them
    weights: NDArray[np.float64] | None
    """Attention of the best translation, ``(tgt words, src words)``; None without attention."""


def translate_lines(
    trained: TrainedModel, lines: Sequence[str], config: DictConfig
) -> list[TranslatedLine]:
    """Translate lines in memory; ``config`` is that of the task.

    Raises ``UserError`` as ``translate`` does.
    """
    dictionary = read_replacement(config.decoding)
    translator = LineTranslator([trained], config, need_weights=True)
    clean = trained.cleaning.aligned_lines(lines, trained.languages[0])
    with sentence_count("translating", len(clean), "lines") as advance:
        translations = translator(clean, 0, advance)
    if warning := translator.warning:
        log.warning("%s", warning)
    texts = texts_of(trained, clean, translations, dictionary)
    return [
        TranslatedLine(
            line,
            written,
            [each.score for each in hypotheses],
            words_attention(hypotheses[0], line, trained.tokenizers) if hypotheses else None,
        )
        for line, written, hypotheses in zip(clean, texts, translations, strict=True)
    ]


def read_chunks(name: str) -> Iterator[list[str]]:
    """Yield the lines of a file, plain or packed, or of standard input (``-``), a chunk at a time.

    A chunk of standard input ends where no further line waits, so that a program which sends a line
    gets its translation.
    """
    if name != STREAM:
        yield from read_blocks(Path(name), "input", CHUNK)
        return
    first, place = 1, Path("standard input")
    for content in _chunks_of(sys.stdin.buffer):
        lines = decode_lines(place, content, "input", first)
        first += len(lines)
        yield lines
    if first == 1:
        decode_lines(place, b"", "input")


def _chunks_of(stream: Any) -> Iterator[bytes]:
    """Yield whole lines, as many as wait in a stream but about ``CHUNK`` at most."""
    held = b""
    while block := stream.read1(READ):
        held += block
        end = held.rfind(b"\n") + 1
        if end and (held.count(b"\n") >= CHUNK or not _waits(stream)):
            yield held[:end]
            held = held[end:]
    if held:
        yield held


def _waits(stream: Any) -> bool:
    """Return whether more can be read at once; a stream without a file has everything."""
    try:
        return bool(select([stream], [], [], 0)[0])
    except (OSError, ValueError):
        return True


class PrefixFile:
    """The lines of the file ``prefix``, a line for each line of the input."""

    def __init__(self, name: str) -> None:
        self._name, self._read = name, 0
        self._lines = chain.from_iterable(read_blocks(Path(name), "prefix", CHUNK))

    def of_lines(self, count: int) -> list[str]:
        """Return the next lines. Raises ``UserError`` if the file has fewer."""
        lines = list(islice(self._lines, count))
        self._read += len(lines)
        if len(lines) < count:
            raise UserError(
                f"prefix={self._name}: ends after line {self._read:,}, before the input does; "
                "write a line, maybe an empty one, for each line of the input"
            )
        return lines

    def check_end(self) -> None:
        """Raise ``UserError`` if the file has further lines."""
        if next(self._lines, None) is not None:
            raise UserError(
                f"prefix={self._name}: has more lines than the input, which has {self._read:,}; "
                "write one line for each line of the input"
            )


class LineLimit(NamedTuple):
    """The most tokens of a line, EOS included, and the setting to change."""

    most: int
    setting: str
    remedy: str  # what the user can do about a longer line

    def check(self, tokens: int, line: str) -> None:
        """Raise ``UserError`` for a line of too many tokens; ``line`` names it, with a verb."""
        if tokens > self.most:
            raise UserError(
                f"{line} {tokens:,} tokens, more than {self.setting}={self.most}: "
                f"{self.remedy.format(tokens=tokens)}"
            )


class LineTranslator:
    """Translates lines with a run, or with several as an ensemble."""

    def __init__(
        self, runs: Sequence[TrainedModel], config: DictConfig, need_weights: bool
    ) -> None:
        """Raise ``UserError`` for a search that cannot be used; see ``Search`` for the weights."""
        models = [run.model for run in runs]
        self._runs, self._config = runs, config
        self._model = models[0] if len(runs) == 1 else Ensemble(models).eval()
        self._source, self._target = runs[0].tokenizers
        self._search = build_search(config, self._model, self._target)
        if self._search.length == "reference":
            searches = "decoding.candidates" if "candidates" in config.decoding else "decoding"
            key = f"{searches}.length"
            raise UserError(f"{key}=reference: task=translate has no references; set {key}=null")
        self._cleaning, self._language = runs[0].cleaning, runs[0].languages[1]
        self._limits = list(line_limits(runs, config))
        self._positions = 0
        self._engine: FindHypotheses = partial(self._search, need_weights=need_weights)
        self._lines = self._unknown = 0
        self._example = ""

    def check_file(self) -> int:
        """Count the lines of the input file, and raise ``UserError`` for one that is too long."""
        done = 0
        for lines in read_chunks(self._config.input):
            self._check(lines, done)
            done += len(lines)
        return done

    def __call__(
        self,
        lines: Sequence[str],
        before: int,
        advance: Advance,
        prefixes: Sequence[str] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each line, best first; none for an empty line.

        ``before`` is the number of lines before the first, ``prefixes`` the beginning of each
        translation. Raises ``UserError`` for a line that a model cannot read, and for a prefix with
        unknown words.
        """
        self._check(lines, before)
        full = [number for number, line in enumerate(lines) if line.strip()]
        encoded = self._source.encode([lines[number] for number in full])
        begun = [] if prefixes is None else self._encoded(prefixes, full, before)
        for run in self._runs:
            check_tags(run.config, self._source, {"input": sources_alone(encoded)})
        self._note_unknown([lines[number] for number in full], encoded)
        find_hypotheses = self._engine_for(max(map(len, encoded), default=0) + 1)
        translations: list[list[Hypothesis]] = [[] for _ in lines]
        advance(len(lines) - len(full))
        for batch in batches_of(encoded, self._config.batching.decode_max_tokens):
            forced = {}
            if prefixes is not None:
                tokens = [torch.tensor(begun[row], dtype=torch.long) for row in batch.ids]
                forced["prefix"] = pad_sequence(tokens, True, PAD)
            hypotheses = find_hypotheses(self._model, *batch.source, **forced)
            for row, ranked in zip(batch.ids.tolist(), hypotheses, strict=True):
                translations[full[row]] = ranked
            advance(len(batch.ids))
        return translations

    @property
    def warning(self) -> str | None:
        """A warning if no line so far has a known word."""
        if not self._lines or self._unknown < self._lines:
            return None
        return all_unknown(self._lines, "lines", self._example)

    def _check(self, lines: Sequence[str], before: int) -> None:
        """Raise ``UserError`` for the first line that is longer than a limit."""
        shortest = min(limit.most for limit in self._limits)
        for number, line in enumerate(lines, before + 1):
            # A token has a byte, or marks the start of a word.
            if 2 * len(line.encode()) < shortest:
                continue
            tokens = len(self._source.encode([line])[0]) + 1
            for limit in self._limits:
                limit.check(tokens, f"input={self._config.input}, line {number}: has")

    def _encoded(
        self, prefixes: Sequence[str], numbers: Sequence[int], before: int
    ) -> list[list[int]]:
        """Return the target tokens of the prefixes of some lines, whose ``numbers`` are from 0.

        Raises ``UserError`` for an unknown word.
        """
        lines = self._cleaning.lines([prefixes[number] for number in numbers], self._language)
        encoded = self._target.encode(lines)
        for number, line, tokens in zip(numbers, lines, encoded, strict=True):
            if UNK in tokens:
                unknown = self._target.pieces_of_line(line)[tokens.index(UNK)]
                raise UserError(
                    f"prefix={self._config.prefix}, line {before + number + 1}: the target "
                    f"vocabulary lacks “{unknown}”; begin the translation in another way"
                )
        return encoded

    def _note_unknown(self, lines: Sequence[str], encoded: Sequence[Sequence[int]]) -> None:
        self._lines += len(lines)
        unknown = [number for number, tokens in enumerate(encoded) if UNK in tokens]
        self._unknown += len(unknown)
        if unknown and not self._example:
            line = lines[unknown[0]]
            pieces = zip(encoded[unknown[0]], self._source.pieces_of_line(line), strict=True)
            self._example = next(piece for token, piece in pieces if token == UNK)

    def _engine_for(self, longest: int) -> FindHypotheses:
        """Return what searches in sources of up to ``longest`` tokens."""
        if self._config.engine == "ctranslate2" and longest > self._positions:
            self._positions = longest
            self._engine = Ctranslate2Engine(self._model, self._search, longest)
        return self._engine


def line_limits(runs: Sequence[TrainedModel], config: DictConfig) -> Iterator[LineLimit]:
    """Yield the limits on lines: of the command, of a batch, of the models' positions."""
    if config.max_line_tokens is not None:
        yield LineLimit(
            config.max_line_tokens,
            "max_line_tokens",
            "split the line, or give max_line_tokens={tokens}; time and memory grow with the "
            "square of the length",
        )
    setting = "batching.decode_max_tokens"
    most = decode_tokens(config.batching.decode_max_tokens)
    yield LineLimit(most, setting, f"split the line, or give {setting}={{tokens}}")
    for run in runs:
        if (limit := run.model.limit()) is not None and limit.src_tokens is not None:
            remedy = f"split the line, or train with {limit.setting}={{tokens}} or more"
            yield LineLimit(limit.src_tokens, limit.setting, remedy)


def align(
    trained: TrainedModel,
    lines: Sequence[str],
    translations: Sequence[list[Hypothesis]],
    option: str,
) -> Iterator[str]:
    """Yield the word alignment of each best hypothesis in the format of ``option``."""
    for line, hypotheses in zip(lines, translations, strict=True):
        if not hypotheses:
            yield ""
            continue
        weights = words_attention(hypotheses[0], line, trained.tokenizers)
        if weights is None:
            raise UserError(
                f"{option}=: {trained.config.variant} has no attention to align by; "
                f"leave {option} out or translate with another run"
            )
        yield ALIGNED[option](weights)
