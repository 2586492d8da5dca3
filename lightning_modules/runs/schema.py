"""The contents of a run's files, which ``files.py`` reads and writes; ``paths.py`` has their names.

Each JSON object has the number ``SCHEMA`` under the key ``schema``; the number in ``result.json``
stands for all files of the folder, as arrays, CSV and lines of JSON have none.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, field_validator

from datamodules.corpus_statistics import CorpusStatistics
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.text_metrics import TEXT_METRICS
from lightning_modules.metrics.word_alignment import links_of_translation, parse_gold

SCHEMA = 1  # version of the contents; a file of another version is not read
VERSION_KEY = "schema"
TRAINING, VALIDATION = "training", "validation"  # phases in which a budget is spent

SHAPES, WEIGHTS = "shapes", "weights"
"""Arrays of ``attention.npz``: shape of each sentence's weights, and all weights in a row."""
VALIDATIONS = "validations"
"""Array of ``attention_history.npz``: numbers of the validations."""
HeadWeights = dict[int, NDArray[np.float64]]
"""Word weights by sentence number, ``(layers, heads, target words, source words)`` each."""


class Record(BaseModel, extra="forbid"):
    """Content of a file, or a part of a content; an unknown field is an error."""


STILL_FALLS = 0.02
"""Share of the validation loss that a doubling of the tokens takes off while it still falls."""
BEGUN = 0.05
"""Share of the loss of a reference that its own source must save: a decoder that ignores the source
still learns the target language."""
ERRORS = 2.0  # standard errors beyond which a change is no chance


PLATEAU = "budget.plateau"  # setting that ends a training whose loss falls no more


class Convergence(Record):
    """How far a training has learned, by the loss of its validation sentences.

    Shares of the loss; each has its standard error over the sentences. None where too little was
    measured.
    """

    fall: float | None = None  # share by which the loss fell with the last doubling of the tokens
    fall_error: float | None = None
    last_fifth_fall: float | None = None  # share by which the loss fell over the last fifth
    last_fifth_fall_error: float | None = None
    last_fifth_bleu: float | None = None  # share of the last BLEU that the last fifth gained
    source_gain: float | None = None
    """Share by which the loss of a reference is lower with its own source than with another's."""
    source_gain_error: float | None = None

    @property
    def still_falls(self) -> bool:
        """Whether the loss still falls: by more than ``STILL_FALLS``, and beyond ``ERRORS``."""
        return _beyond(self.fall, self.fall_error, STILL_FALLS)

    @property
    def began(self) -> bool:
        """Whether the model translates: the floor, ``BEGUN``, that a training has to pass."""
        gain = self.source_gain
        return gain is None or _beyond(gain, self.source_gain_error, BEGUN)

    @property
    def sentence(self) -> str | None:
        """The judgement in words; None where a doubling was not measured."""
        if self.fall is None:
            return None
        error = "" if self.fall_error is None else f" ± {self.fall_error:.1%}"
        if self.still_falls:
            said = f"validation loss still falls {self.fall:.1%}{error} a doubling: train longer"
        else:
            moved = f"fell {self.fall:.1%}" if self.fall >= 0 else f"rose {-self.fall:.1%}"
            said = f"validation loss {moved}{error} with the last doubling"
        gained = self.last_fifth_bleu
        brought = f"brought {gained:.1%} of the last BLEU" if gained and gained > 0 else None
        fifth = [each for each in (self.moved_loss, brought) if each]
        return said + (f" (the last fifth {' and '.join(fifth)})" if fifth else "")

    @property
    def moved_loss(self) -> str | None:
        """What the last fifth did to the loss, in words."""
        fall = self.last_fifth_fall
        if fall is None:
            return None
        return f"took {fall:.1%} off the loss" if fall >= 0 else f"added {-fall:.1%} to the loss"


def _beyond(share: float | None, error: float | None, least: float) -> bool:
    return share is not None and share > max(least, ERRORS * (error or 0))


AlarmKind = Literal["below", "alike", "rising"]
"""What an alarm is about; ``testing/alarms.py`` decides, and says each in words."""


class Alarm(Record):
    """A sign that a training has learned too little."""

    kind: AlarmKind
    text: str  # what was measured, in a few words


class Training(Record):
    """Cost of a training, and the validation whose weights are tested."""

    target_tokens: int | None = None  # number of real target tokens trained on, EOS counted
    updates: int | None = None
    epochs: float | None = None  # number of passes over the training sentences
    flops: float | None = None  # FLOPs of matrix products, forward and backward, padding left out
    seconds: float | None = None  # seconds of training, validation left out
    target_tokens_per_second: float | None = None
    waited: float | None = None
    """Seconds in which the device waited for batches, as a share of these and ``seconds``."""
    other_costs: dict[str, float] = {}
    """Amount spent of a budget of the user's kind, by the dotted path of the kind."""
    data_order: str | None = None  # hash of the sentence numbers of all batches, in order
    data_order_at: dict[int, str] = {}  # `data_order` after 1, 2, 4, 8, … updates
    val_loss: float | None = None
    """Loss of the validation whose weights are tested, in nats per target token; None without."""
    val_bleu: float | None = None  # BLEU of the validation whose weights are tested
    start_spread: float | None = None
    """Spread of attention before the first update, as in ``HistoryPoint``; None without."""
    convergence: Convergence = Convergence()
    ended_by: str | None = None
    """Setting that ended the training before its amount was spent; None if the amount did."""
    suspicions: list[str] = []  # what speaks against the tested weights, such as a BLEU of 0

    @property
    def ended_early(self) -> bool:
        """Whether neither the budget nor its plateau ended the training."""
        return self.ended_by is not None and not self.ended_by.startswith(PLATEAU)

    def spent(self, kind: str) -> float | None:
        """Return the cost in a kind of budget; None if the run did not record the cost."""
        cost: float | None = self.other_costs.get(kind, getattr(self, kind, None))
        return cost


class Data(Record):
    """The corpus a run was trained and tested on."""

    name: str = "unknown"
    source: str = "?"  # code of the source language
    target: str = "?"  # code of the target language
    fingerprint: str | None = None  # hash of the sentences and tokenizer settings
    test_sets: list[str] = []  # names of other test sets, on which task=test tested the run
    pairs: dict[str, int] = {}  # number of sentence pairs by split
    left_out: dict[str, dict[str, int]] = {}  # number of dropped sentence pairs by split and reason
    seen: dict[str, float] = {}
    """Share of the test set's parts that also occur in training, by the name of the parts."""
    vocabulary: dict[str, int] = {}
    """Number of tokens in the vocabulary by side, ``source`` and ``target``."""
    suspicions: list[str] = []
    """What looks wrong in the text, such as test pairs in the training text."""
    padding: dict[str, float] = {}
    """Share of padding in the training batches by side, of whole batches; EOS is no padding."""
    statistics: CorpusStatistics | None = None  # lengths, words, unknown tokens and cleaning


class Environment(BaseModel, extra="allow"):
    """Hardware, and versions by the names of packages."""

    device: str | None = None  # name of the GPU, or `cpu`
    products: str = "torch"  # library of float32 products on a CPU
    matmul_precision: str = "highest"  # precision of float32 products
    kernels: str = "plain"  # kernels on a GPU that are not PyTorch's own, in words


class Coverage(Record):
    """Coverage of a vocabulary by a file of word vectors."""

    file: str
    covered: int  # number of tokens with a vector in the file
    missing: int  # number of tokens without a vector, which started at random
    fingerprint: str | None = None  # hash of the file's content; None for an unreadable file


class FirstWeights(Record):
    """What a training took from the best weights of another run, ``init_from``."""

    run: str  # folder or checkpoint of the run
    fingerprint: str  # hash of the weights
    taken: int  # number of parameters that start with the run's weights, wholly or in part
    at_random: list[str] = []  # names of parameters that start at random
    left: list[str] = []  # names of the run's parameters that this model does not have or fit
    tokens: dict[str, tuple[int, int]] = {}
    """Tables with a row for each token, by name: number of rows taken, and of all rows."""


Measure = Literal["parameters", "flops"]
MEASURES: dict[Measure, str] = {"parameters": "trained parameters", "flops": "FLOPs a target token"}
"""What ``match.by`` may count, in words."""


class SizeMatch(Record):
    """Counts of a measure, which ``match`` wrote into the configuration as ``match.found``."""

    own: float  # count of the variant that was sized
    other: float  # count of the variant to match

    @property
    def apart(self) -> float:
        """Relative difference of the two counts."""
        return self.own / self.other - 1


class Baseline(Record):
    """Scores of a trivial translation, to which the scores of a model compare."""

    scores: dict[str, float]  # scores on the whole test set, by the names of metrics
    by_length: dict[str, dict[str, float]]
    """Scores on each length bucket, by the bucket's label, such as ``1–10``."""


class SubsetScores(Record):
    """Scores on some of the test sentences, such as one of several test sets."""

    sentences: int
    scores: dict[str, float]  # scores by the names of metrics
    intervals: dict[str, tuple[float, float]] = {}
    """95% bootstrap intervals of the scores over these sentences."""


class ReplacedUnknown(Record):
    """What replaced the unknown words (``<unk>``) of the translations."""

    unknown: int  # number of unknown words that the model wrote; those without attention stay
    copied: int  # number of unknown words that became the aligned source word
    translated: int  # number of unknown words that became a word of the dictionary


class Accuracy(Record):
    """Share of right choices between two translations, in percent."""

    pairs: int  # number of contrastive pairs
    value: float
    low: float | None
    """With ``high``, the 95% bootstrap interval over source sentences; None for one sentence."""
    high: float | None


Accuracies = dict[str, dict[str, Accuracy]]
"""Accuracies by kind of group (``all``, ``category``, ``distance``, …), and by group."""


class Result(Record):
    """``result.json``: only the variant, the seed and the test BLEU must be there."""

    variant: str
    seed: int
    scores: dict[str, float]  # scores on the whole test set, by the names of metrics
    intervals: dict[str, tuple[float, float]] = {}
    """95% bootstrap intervals of the scores over test sentences."""
    subsets: dict[str, SubsetScores] = {}
    """Scores on each test set, if there are several, and on the sentences ``without UNK``."""
    replaced: ReplacedUnknown | None = None
    """Replaced unknown words; None without ``decoding.replace_unknown``."""
    baselines: dict[str, Baseline] = {}
    """Scores of translations without a model, by name; none where the training text is unread."""
    contrast: Accuracies = {}  # accuracies on contrastive pairs; none without `scoring.contrastive`
    alarms: list[Alarm] = []  # signs that the training has learned too little, the worst first
    suspicions: list[str] = []  # what looks wrong in the translations, such as copies of the source
    overrides: list[str] = []  # overrides of the command line, without passwords
    signature: str | None = None  # signature of sacreBLEU for BLEU
    train_max_words: int | None = None
    """Largest number of words in a training sentence; None for no limit."""
    parameters: int | None = None  # number of trained parameters, without frozen word vectors
    vectors: dict[str, Coverage] = {}
    """Coverage of pretrained embeddings by side, ``source`` and ``target``."""
    first_weights: FirstWeights | None = None  # None without ``init_from``
    training: Training = Training()
    decoding: dict[str, Any] = {}  # settings and speed of the search on the test set
    data: Data = Data()
    environment: Environment = Environment()
    peak_memory_mib: float | None = None
    """Peak memory of the process in MiB; jobs of a comparison share processes."""
    peak_device_memory_mib: float | None = None
    """Peak memory of tensors on the GPU of the first rank in MiB; None on a CPU."""
    git_commit: str | None = None
    code: str | None = None  # version of the code that trained; see `provenance.code_versions`
    testing_code: str | None = None  # version of the code that tested
    config: dict[str, Any] = {}  # the resolved configuration, without passwords
    files: dict[str, str] = {}
    """SHA-256 of the files of the run by their paths below its folder; see ``checksums``."""

    @property
    def draws(self) -> Resamples:
        """Number and seed of the resamples behind the intervals."""
        scoring = self.config["scoring"]
        return Resamples(scoring["resamples"], scoring["seed"])

    @property
    def attention_step(self) -> str:
        """The decoder step whose attention aligned the references."""
        return str((self.config.get("scoring") or {}).get("attention_step", "predicted"))

    @property
    def metrics(self) -> list[str]:
        """The metrics of translations that the run was scored with, as in ``scoring.metrics``."""
        scoring = self.config.get("scoring") or {}
        return list(scoring.get("metrics", TEXT_METRICS))

    @property
    def all_suspicions(self) -> list[str]:
        """What looks wrong in the text, in the training and in the translations."""
        return [*self.data.suspicions, *self.training.suspicions, *self.suspicions]

    @field_validator("scores")
    @classmethod
    def _with_bleu(cls, scores: dict[str, float]) -> dict[str, float]:
        """Raise ``ValueError`` without BLEU."""
        if "bleu" not in scores:
            raise ValueError("bleu is missing")
        return scores


class Failure(Record):
    """``failure.json``: a job that ended with an error."""

    variant: str | None = None
    seed: int | str | None = None  # the seed as it was given; a text if it is no number
    overrides: list[str] = []  # overrides of the command line, without passwords
    error: str = "failed without a message"


class Prediction(Record):
    """One line of ``predictions.jsonl``."""

    id: int  # index of the sentence in the test set
    source: str
    reference: str
    further_references: list[str] = []
    hypothesis: str
    score: float | None = None  # sentence BLEU, 0 to 100
    alignment: str | None = None
    """Word alignment of source and hypothesis by attention, in Pharaoh format."""
    gold: str | None = None  # word alignment of source and reference, in Pharaoh format
    set: str | None = None  # name of the test set of the sentence, where the corpus names test sets
    unknown: bool | None = None  # whether source or reference has a word that the vocabularies lack
    phrase_table: str | None = None  # translation by the phrase table of the training text
    nearest_copy: str | None = None  # target of the training pair with the most similar source


class SentenceAttention(BaseModel):
    """Word-level attention of one test sentence: weights (target words, source words)."""

    id: int
    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]
    gold: list[tuple[int, int]] = []
    """Gold links, source word first, counted from 0; empty where none are known."""

    @classmethod
    def between(
        cls,
        number: int,
        source: str,
        target: str,
        weights: NDArray[np.floating],
        gold: Iterable[tuple[int, int]] = (),
    ) -> Self:
        """Name the words of two lines, whose weights are ``(tgt words, src words)``."""
        return cls(
            id=number,
            source_words=source.split(),
            target_words=target.split(),
            weights=weights.tolist(),
            gold=sorted(gold),
        )

    @classmethod
    def of(cls, prediction: Prediction, weights: NDArray[np.floating]) -> Self:
        """Join a translation and its weights ``(tgt words, src words)``.

        Gold links are known for the words that the translation shares with its reference.
        """
        hypothesis, gold = prediction.hypothesis, parse_gold(prediction.gold or "").possible
        links = links_of_translation(gold, prediction.reference.split(), hypothesis.split())
        rounded = weights.astype(float).round(4)
        return cls.between(prediction.id, prediction.source, hypothesis, rounded, links)


class SentenceHistory(NamedTuple):
    """The attention on a validation sentence over a training, forced to write its reference."""

    id: int  # index of the sentence in its split
    source: str
    target: str
    gold: Sequence[tuple[int, int]]  # gold links, source word first; empty where none are known
    weights: NDArray[np.floating]  # `(validations, target words, source words)`

    def at(self, place: int) -> SentenceAttention:
        """Return the attention at one of the validations, by its place among them."""
        weights = self.weights[place].astype(float).round(4)
        return SentenceAttention.between(self.id, self.source, self.target, weights, self.gold)


class AttentionHistory(NamedTuple):
    """``attention_history.npz``: the attention on a few sentences at the validations."""

    validations: Sequence[int]  # numbers of the validations, from 1: rows of `history.csv`
    sentences: Sequence[SentenceHistory]


class WordCounts(Record):
    """``word_counts.json``: how often training had the words of the test set and its outputs."""

    target: dict[str, int]
    """Training counts of the tokens of references and hypotheses, as BLEU cuts tokens."""


class HistoryPoint(Record):
    """A row of ``history.csv``: progress and losses at a validation."""

    target_tokens: int  # number of real target tokens trained on so far, EOS counted
    seconds: float  # seconds of training so far, validation left out
    train_loss: float  # mean loss since the previous validation, in nats per target token
    val_loss: float  # mean loss of the references, in nats per target token
    val_bleu: float
    attention_spread: float | None = None
    """Mean entropy of a target token's attention weights, over that of equal weights: 0 all on one
    source token, 1 equal weights; None without attention."""
    learning_rate: float | None = None  # of the next update
    gradient_norm: float | None = None
    """Mean norm of the gradient before clipping since the previous validation; None where the norm
    is not clipped, and so not computed."""

    @field_validator("attention_spread", "learning_rate", "gradient_norm", mode="before")
    @classmethod
    def _none(cls, written: Any) -> Any:
        """Read an empty field of the file as None."""
        return None if written == "" else written


class LossPoint(Record):
    """A row of ``learning_curve.csv``: the loss of the validation sentences after an update."""

    updates: int
    target_tokens: int  # number of real target tokens trained on so far, EOS counted
    seconds: float  # seconds of training so far, validation left out
    val_loss: float  # mean loss of the references, in nats per target token
    error: float | None  # standard error of the loss over the sentences
    fall: float | None
    """Share by which the loss is lower than at half of the target tokens; None if that was not
    measured."""
    fall_error: float | None  # standard error of the fall over the sentences
    learning_rate: float | None = None  # of the next update


class JobState(Record):
    """``progress.json``: progress of a run, for the terminal."""

    doing: str  # current phase, such as `training`, `validation` or `translating the test set`
    updates: int = 0
    share: float = 0.0  # share of the training budget that is spent, 0 to 1
    tokens_per_second: float = 0.0  # real target tokens trained on per second
    val_bleu: float | None = None  # BLEU of the last validation
    seconds_left: float | None = None  # seconds of training left; None before the first update


class ValueComparison(Record):
    """A recorded value, and the value of a reproduction."""

    then: Any
    now: Any

    @property
    def same(self) -> bool:
        """Whether the two values are equal to the last digit."""
        return bool(self.then == self.now)


class Reproduction(BaseModel, extra="allow"):
    """``reproduction.json``: the reproduced run, and values by their names."""

    run: str  # the folder of the recorded run
    __pydantic_extra__: dict[str, ValueComparison] = Field(init=False)
