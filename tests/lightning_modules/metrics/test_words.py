"""Tokenizers, case and several references, equal to sacreBLEU's command line."""

import json
import subprocess
import sys
from typing import Any, get_args

import numpy as np
import pytest
from sentencepiece import SentencePieceTrainer

from datamodules.errors import UserError
from lightning_modules.metrics.chosen_metrics import find_metrics, translation_statistics
from lightning_modules.metrics.lengths import LengthUnit, sentence_lengths
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.text_metrics import (
    TEXT_METRICS,
    Bleu,
    ExactMatch,
    sentence_bleu_signature,
)
from lightning_modules.metrics.words import (
    AS_LANGUAGES,
    PLAIN,
    TOKENIZERS,
    Tokenize,
    WordRule,
    WordRules,
    WordSettings,
    tokenizer_of_script,
    usual_tokenizer,
)

CHINESE = (
    ["今天女人看狗。", "猫坐在桌子旁边,好吗?", "高高的猫 OK 跑了2.5公里。"],
    ["今天女人看狗。", "猫坐在窗户旁边,好吗?", "高高的猫 OK 走了2.5公里。"],
)
JAPANESE = (
    ["今日は女の人が犬を見ます。", "猫は窓のそばに座っています。"],
    ["今日は女の人が猫を見ます。", "猫は窓のそばに座っている。"],
)
KOREAN = (
    ["오늘 여자가 개를 봅니다.", "고양이는 창문 옆에 앉아 있습니다."],
    ["오늘 여자가 고양이를 봅니다.", "고양이는 문 옆에 앉아 있다."],
)
THAI = (["วันนี้ผู้หญิงเห็นสุนัข", "แมวนั่งข้างหน้าต่าง"], ["วันนี้ผู้หญิงเห็นแมว", "แมวนั่งข้างประตู"])
ENGLISH = (
    ["The woman sees a DOG; today.", "A cat sits near the window, doesn't it?", "x"],
    ["the woman sees a dog, today.", "A cat sits near the door, doesn't it?", "Yes"],
)
TEXTS = {
    "13a": ENGLISH, "intl": ENGLISH, "none": ENGLISH, "zh": CHINESE, "ja-mecab": JAPANESE,
    "ko-mecab": KOREAN, "char": THAI,
}  # fmt: skip
"""Hypotheses and references."""


def command(folder, hypotheses, references, *options):
    """Return score and signature of each metric by sacreBLEU's command line."""
    files = []
    for name, lines in (("hyp", hypotheses), *enumerate(references)):
        files.append(folder / f"{name}.txt")
        files[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    hypothesis, *others = map(str, files)
    call = [sys.executable, "-m", "sacrebleu", *others, "-i", hypothesis, "-w", "12", *options]
    found = json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
    return [(each["score"], each["signature"]) for each in found]


def scored(hypotheses, text, *names):
    """Return score and signature of each metric by the harness."""
    metrics = [TEXT_METRICS[name]() for name in names]
    counts = translation_statistics(metrics, text, hypotheses)
    return [
        (pytest.approx(float(each.score(counts[each.statistics].sum(0))), abs=1e-9),
         each.signature_on(text))
        for each in metrics
    ]  # fmt: skip


def text_of(*references, rule=PLAIN, sources=None):
    first, *others = references
    further = list(zip(*others, strict=True))
    return ReferenceText(first, sources, further, WordRules(rule, rule))


@pytest.mark.parametrize("tokenizer", TEXTS)
def test_each_tokenizer_scores_as_sacrebleus_command(tokenizer, tmp_path):
    hypotheses, references = TEXTS[tokenizer]
    letters = tokenizer in ("zh", "ja-mecab")
    options = ("--ter-normalized", "--ter-asian-support") if letters else ()
    call = ("-tok", tokenizer, "-m", "bleu", "chrf", "ter", *options)
    text = text_of(references, rule=WordRule(tokenizer))
    expected = command(tmp_path, hypotheses, [references], *call)
    assert expected == scored(hypotheses, text, "bleu", "chrf", "ter")
    assert 0 < expected[0][0] < 100


def test_sentencepieces_of_flores_score_as_sacrebleus_command(tmp_path, monkeypatch):
    models = tmp_path / "models"
    models.mkdir()
    file = tmp_path / "text"
    file.write_text("\n".join(ENGLISH[0] * 20), encoding="utf-8")
    SentencePieceTrainer.train(
        input=str(file), model_prefix=str(models / "made"), vocab_size=34, minloglevel=2
    )
    (models / "made.model").rename(models / "flores200sacrebleuspm")
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setenv("SACREBLEU", str(tmp_path))
    expected = command(tmp_path, ENGLISH[0], ENGLISH[1:], "-tok", "flores200", "-m", "bleu", "ter")
    text = text_of(ENGLISH[1], rule=WordRule("flores200"))
    assert expected == scored(ENGLISH[0], text, "bleu", "ter")
    assert "tok:flores200" in expected[0][1]


def test_case_is_ignored_as_with_lc(tmp_path):
    hypotheses, references = ENGLISH
    text = text_of(references, rule=WordRule("13a", lowercase=True))
    expected = command(tmp_path, hypotheses, [references], "-lc", "-m", "bleu", "chrf", "ter")
    assert expected == scored(hypotheses, text, "bleu", "chrf", "ter")
    assert "case:lc" in expected[0][1]
    assert "case:lc" in sentence_bleu_signature(text)
    assert expected[0][0] > command(tmp_path, hypotheses, [references], "-m", "bleu", "chrf")[0][0]


@pytest.mark.parametrize("tokenizer", ["13a", "zh"])
def test_several_references_score_as_sacrebleus_command(tokenizer, tmp_path):
    hypotheses, references = TEXTS[tokenizer]
    streams = [references, hypotheses[::-1], [f"{line}!" for line in references]]
    options = ("--ter-normalized", "--ter-asian-support") if tokenizer == "zh" else ()
    call = ("-tok", tokenizer, "-m", "bleu", "chrf", "ter", *options)
    expected = command(tmp_path, hypotheses, streams, *call)
    assert expected == scored(
        hypotheses, text_of(*streams, rule=WordRule(tokenizer)), "bleu", "chrf", "ter"
    )
    assert all("nrefs:3" in signature for _, signature in expected)


def test_a_sentence_may_have_fewer_references():
    hypotheses, references = ENGLISH
    text = ReferenceText(references, None, [[], [hypotheses[1]], []])
    bleu = Bleu().counter(PLAIN)
    streams: Any = [references, [None, hypotheses[1], None]]
    expected = bleu.corpus_score(hypotheses, streams).score
    assert scored(hypotheses, text, "bleu")[0] == (expected, str(bleu.get_signature()))
    assert "nrefs:var" in str(bleu.get_signature())


def test_an_empty_line_of_further_references_is_an_empty_reference_as_for_the_command(tmp_path):
    hypotheses, references = ENGLISH
    streams = [references, [hypotheses[1], "", hypotheses[0]]]
    expected = command(tmp_path, hypotheses, streams, "-m", "bleu", "chrf", "ter")
    assert expected == scored(hypotheses, text_of(*streams), "bleu", "chrf", "ter")
    assert "nrefs:2" in expected[0][1]


def test_exact_match_takes_any_reference_and_the_words_of_the_language():
    def exact(text, hypotheses):
        return ExactMatch().count(text, hypotheses)[:, 0].tolist()

    assert exact(text_of(["a b", "c"], ["x", "d  e"]), ["a  b", "d e"]) == [1, 1]
    assert exact(text_of(["我 喜欢"]), ["我喜欢"]) == [0]
    assert exact(text_of(["我 喜欢"], rule=WordRule("zh")), ["我喜欢"]) == [1]
    assert exact(text_of(["A b"], rule=WordRule(lowercase=True)), ["a B"]) == [1]


def test_lengths_count_words_of_the_language():
    text = ReferenceText(["我喜欢狗。"], ["a dog, yes"], (), WordRules(PLAIN, WordRule("zh")))
    units = get_args(LengthUnit)
    assert [sentence_lengths(text, unit).tolist() for unit in units] == [[3], [5], [4], [5]]


def test_languages_get_the_tokenizers_that_they_need():
    usual = {
        "en": "13a", "de-AT": "13a", "zh": "zh", "zh-CN": "zh", "zho_Hans": "zh", "cmn": "zh",
        "yue": "zh", "ja": "ja-mecab", "jpn_Jpan": "ja-mecab", "ko": "ko-mecab", "th": "char",
        "km": "char", "": "13a",
    }  # fmt: skip
    assert {language: usual_tokenizer(language) for language in usual} == usual
    assert AS_LANGUAGES.rules("ja", "zh") == WordRules(WordRule("ja-mecab"), WordRule("zh"))
    given = WordSettings(tokenize=Tokenize(source="char", target="intl"), lowercase=True)
    assert given.rules("ja", "zh") == WordRules(WordRule("char", True), WordRule("intl", True))


@pytest.mark.parametrize(
    ("lines", "tokenizer"),
    [
        (CHINESE[0], "zh"),
        (JAPANESE[0], "ja-mecab"),
        (THAI[0], "char"),
        (KOREAN[0], None),
        (ENGLISH[0], None),
        (["今天 女人 看 狗 。"], None),
        (["word"], None),
        (["1 2 3", ""], None),
        ([], None),
    ],
)
def test_text_without_spaces_is_recognised(lines, tokenizer):
    assert tokenizer_of_script(lines) == tokenizer
    if tokenizer is None:
        PLAIN.check(lines, "target", "the text")
        return
    WordRule(tokenizer).check(lines, "target", "the text")
    with pytest.raises(UserError) as caught:
        PLAIN.check(lines, "target", "the text")
    message = str(caught.value)
    assert message.startswith("the text is written without spaces")
    assert message.endswith(f"give scoring.tokenize.target={tokenizer}")


def test_a_missing_package_is_named_with_the_command(monkeypatch):
    from lightning_modules.metrics import words

    monkeypatch.setattr(words, "find_spec", lambda name: None)
    words._lacking.cache_clear()
    line = "scoring.tokenize.target=ja-mecab (null, with the language ja): MeCab is not installed; "
    line += "run pip install 'sacrebleu[ja]', or give char"
    with pytest.raises(UserError) as caught:
        AS_LANGUAGES.rules("en", "ja")
    assert str(caught.value) == line
    words._lacking.cache_clear()


def test_words_have_their_places_in_the_line():
    for rule in (PLAIN, *(WordRule(name) for name in ("zh", "ja-mecab", "char"))):
        for line in (*CHINESE[0], *ENGLISH[0], "", "  a  b "):
            places = rule.places(line)
            assert [line[place] for _, place in places] == [word for word, _ in places]
            assert [word for word, _ in places] == rule.words(line)
    assert WordRule(lowercase=True).places("A b") == [("a", slice(0, 1)), ("b", slice(2, 3))]


def test_tokens_of_words_are_those_of_lines():
    for tokenizer in ("13a", "intl", "none", "zh", "char"):
        rule = WordRule(tokenizer, lowercase=True)
        for lines in TEXTS.values():
            counts = rule.count_tokens(dict.fromkeys(lines[0][0].split(), 2))
            assert set(counts) == set(rule.tokens(lines[0][0]))


def test_every_metric_counts_with_every_tokenizer_at_hand():
    for tokenizer in set(TOKENIZERS) - {"flores200"}:
        text = text_of(CHINESE[1], CHINESE[0], rule=WordRule(tokenizer))
        counts = translation_statistics(find_metrics(TEXT_METRICS), text, CHINESE[0])
        assert all(np.isfinite(each).all() for each in counts.values())
