"""Pretrained embeddings: reading a file, its coverage, frozen embeddings."""

import gzip
import logging

import pytest
import torch

from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.tokenization import Tokenizers, TokenizerSettings
from lightning_modules.runs.schema import Coverage
from lightning_modules.training.factories import build_model
from lightning_modules.training.word_vectors import fingerprint, freeze, load_vectors, read_vectors
from tests.helpers.variants import configuration

TEXT = ParallelText(["Der Hund sieht den Hund."], ["The dog sees the dog."])
LINES = [
    "the 1 2 3 4",
    ", 9 9 9 9",
    ". . . 5 5 5 5",
    "Hund 5 -6 7e-1 8",
    "hund 0 0 0 0",
    "der 1 1 1 1",
]
WIDTH = 4


def write(path, *lines, packed=False):
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def built(*overrides, shared=False, kind="words"):
    """Make vocabularies of ``TEXT`` and a model with embeddings four numbers wide."""
    tokenizers = Tokenizers.train(TEXT, TokenizerSettings(kind, 100, 1, shared))
    config = configuration(
        f"tokenizer.shared={shared}", "model.embedding_size=4", "scale=0.1", *overrides
    )
    return build_model(config, *map(len, tokenizers)), tokenizers


def load(model, tokenizers, **files):
    return load_vectors(model, tokenizers, with_vectors(**files))


def with_vectors(**given):
    return configuration(
        "model.embedding_size=4", *(f"vectors.{key}={given[key]}" for key in given)
    )


def vector(table, tokenizer, line):
    (token,) = tokenizer.encode([line])[0]
    return table.weight[token].tolist()


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
@pytest.mark.parametrize("header", [[], ["6 4"]])
@pytest.mark.parametrize("ending", ["", " ", "\r"])
def test_both_formats_packed_or_not(tmp_path, name, header, ending):
    lines = [*header, *(line + ending for line in LINES)]
    path = write(tmp_path / name, *lines, packed=name.endswith(".gz"))
    wanted = {"the", "Hund", ".", "cat"}
    vectors = read_vectors(path, wanted, WIDTH, "vectors.source", "model.width")
    assert {word: vector.tolist() for word, vector in vectors.items()} == {
        "the": [1, 2, 3, 4],
        "Hund": [5, -6, pytest.approx(0.7), 8],
    }


def test_exact_words_before_lower_case_ones_and_the_rest_at_random(tmp_path, caplog):
    model, tokenizers = built()
    source, target = tokenizers
    before = model.src_embedding.weight.clone()
    path = write(tmp_path / "v", *LINES)
    with caplog.at_level(logging.INFO):
        covered = load(model, tokenizers, source=path, target=path)
    table = model.src_embedding
    assert vector(table, source, "Hund") == pytest.approx([5, -6, 0.7, 8])
    assert vector(table, source, "Der") == [1, 1, 1, 1]
    untouched = [0, 1, 2, 3, *source.encode(["sieht den"])[0]]
    assert torch.equal(table.weight[untouched], before[untouched])
    assert vector(model.tgt_embedding, target, "The") == [1, 2, 3, 4]
    assert vector(model.tgt_embedding, target, "the") == [1, 2, 3, 4]
    # Der Hund sieht den . and The dog sees the .
    digits = fingerprint(path)
    assert covered["source"] == Coverage(file=str(path), covered=2, missing=3, fingerprint=digits)
    assert covered["target"] == Coverage(file=str(path), covered=2, missing=3, fingerprint=digits)
    assert "vectors.source: 2 of 5 tokens covered (40.0%)" in caplog.messages


def test_the_model_reads_what_the_file_says(tmp_path):
    """This model multiplies its embeddings (Vaswani et al. 2017, section 3.4)."""
    tokenizers = Tokenizers.train(TEXT, TokenizerSettings("words", 100, 1, False))
    settings = ["model.width=4", "model.heads=1", "model.positions=rotary"]
    config = configuration("model=transformer", *settings)
    model = build_model(config, *map(len, tokenizers))
    load(model, tokenizers, source=write(tmp_path / "v", *LINES))
    read = []
    first = model.get_submodule("encoder.0")
    first.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    src = torch.tensor(tokenizers.source.encode(["Der Hund"]))
    model.encode(src, torch.ones_like(src, dtype=torch.bool))
    torch.testing.assert_close(read[0], torch.tensor([[[1, 1, 1, 1], [5, -6, 0.7, 8]]]))


def test_the_first_of_equal_lines_counts_and_unneeded_ones_are_not_parsed(tmp_path):
    path = write(tmp_path / "v", "a 1 1 1 1", "b no numbers at all", "a 2 2 2 2")
    vectors = read_vectors(path, {"a"}, WIDTH, "vectors.source", "model.width")
    assert vectors["a"].tolist() == [1, 1, 1, 1]


def test_one_table_for_both_languages(tmp_path):
    model, tokenizers = built("model.tied=all", "model.readout.size=4", shared=True)
    one, other = write(tmp_path / "one", *LINES), write(tmp_path / "other", *LINES)
    assert load(model, tokenizers, source=one)["source"].covered == 4
    assert set(load(model, tokenizers, source=one, target=one)) == {"source", "target"}
    assert vector(model.output, tokenizers.target, "Hund") == pytest.approx([5, -6, 0.7, 8])
    with pytest.raises(UserError, match=r"^model\.tied=all: .* model\.tied=output$"):
        load(model, tokenizers, source=one, target=other)


def test_frozen_tables_stay(tmp_path):
    model, _ = built()
    sizes = [parameter.numel() for parameter in model.parameters() if parameter.requires_grad]
    freeze(model, with_vectors(source=tmp_path / "v"))
    assert model.src_embedding.weight.requires_grad
    freeze(model, with_vectors(source=tmp_path / "v", frozen=True))
    assert not model.src_embedding.weight.requires_grad
    assert model.tgt_embedding.weight.requires_grad
    left = [parameter.numel() for parameter in model.parameters() if parameter.requires_grad]
    assert sum(sizes) - sum(left) == model.src_embedding.weight.numel()


def test_what_cannot_be_frozen():
    model, _ = built("model.tied=output", "model.readout.size=4")
    freeze(model, with_vectors(source="v", frozen=True))
    with pytest.raises(UserError, match=r"^vectors\.frozen=true: .* model\.tied=none or"):
        freeze(model, with_vectors(target="v", frozen=True))
    with pytest.raises(UserError, match=r"^vectors\.frozen=true: give vectors\.source=FILE"):
        freeze(model, with_vectors(frozen=True))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the 1 2 3\n", r"have 3 numbers, the embeddings 4; set model\.embedding_size=3 or"),
        (b"6 300\nthe 1 2 3 4\n", r"have 300 numbers, .* set model\.embedding_size=300 or"),
        (b"\n\n", "line 1 is not a word and 4 numbers"),
        (b"a 1 2 3 4\nthe 1 2 3\n", "line 2 is not a word and 4 numbers"),
        (b"a 1 2 3 4\nthe 1 2 x 4\n", "line 2 is not a word and 4 numbers"),
        (b"a 1 2 3 4\nthe 1 2 nan 4\n", "line 2 is not a word and 4 numbers"),
        (b"cat 1 2 3 4\n", "has none of the vocabulary's 5 tokens"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, content, message):
    model, tokenizers = built()
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"^vectors\.target={path}: [^\n]*{message}[^\n]*$"):
        load(model, tokenizers, target=path)


def test_files_that_cannot_be_read(tmp_path):
    """The reader of all text names the file and the setting."""
    model, tokenizers = built()
    contents = {"latin": b"a 1 2 3 4\ncaf\xe9 1 2 3 4\n", "empty": b"", "v.gz": b"the 1 2 3 4"}
    contents["cut.gz"] = gzip.compress(b"a 1 2 3 4\n" * 9999)[:40]
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for name in ("nowhere", "", *contents):
        with pytest.raises(UserError, match=rf"{tmp_path / name}.*[^\n]*vectors\.source"):
            load(model, tokenizers, source=tmp_path / name)


def test_bpe_tokens_find_the_words_that_they_are(tmp_path):
    model, tokenizers = built(kind="bpe")
    covered = load(model, tokenizers, source=write(tmp_path / "v", *LINES))
    assert vector(model.src_embedding, tokenizers.source, "Hund") == pytest.approx([5, -6, 0.7, 8])
    assert covered["source"].covered + covered["source"].missing < len(tokenizers.source)
