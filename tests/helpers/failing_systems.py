"""Systems that fail in one way in some of the longer sentences, made without training."""

import random
from functools import cache

from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import Bleu, ExactMatch
from tests.helpers.run_folders import scoring_of

LENGTHS = scoring_of(edges=[10, 20, 30], resamples=200)
WORDS = [f"word{number}" for number in range(40)]


@cache
def made_test(sentences=240):
    rng = random.Random(1)
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(4, 30))) for _ in range(sentences)]
    return EvalSet(lines, lines)


def one_wrong(words, rng):
    place = rng.randrange(len(words))
    return [*words[:place], "wrong", *words[place + 1 :]]


def looping(words, rng):
    return words[:6] * 6


def cut(words, rng):
    return words[: len(words) // 3]


def unknown(words, rng):
    return [word if rng.random() < 0.5 else "<unk>" for word in words]


def system(name, fails=one_wrong, share=0.5, from_words=21, otherwise=one_wrong, seeds=(1,)):
    """A system that translates sentences of fewer than ``from_words`` words without an error.

    Of the others, a share fails in one way.
    """
    test, metrics, outputs = made_test(), [Bleu(), ExactMatch()], []
    for seed in seeds:
        rng = random.Random(f"{name} {seed}")

        def translated(words, rng=rng):
            if len(words) < from_words:
                return words
            return (fails if rng.random() < share else otherwise)(words, rng)

        lines = [" ".join(translated(line.split())) for line in test.references]
        counts = {metric.statistics: metric.count(test, lines) for metric in metrics}
        outputs.append(Output(seed, lines, counts, metrics))
    return System(name, test, outputs, f"the {name}, labelled")
