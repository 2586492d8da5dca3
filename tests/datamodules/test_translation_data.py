import logging
from itertools import chain

import numpy as np
import pytest
import pytorch_lightning as pl
import torch

from datamodules.batching import Longest
from datamodules.corpus import SPLITS, Corpus, ParallelText
from datamodules.errors import UserError
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings
from datamodules.translation_data import TranslationData
from tests.helpers.data_settings import NO_CLEANING, batch_sizes

WORDS = ["der", "Hund", "l'homme", "n'aime", "pas.", "Käse", "(sehr)"]


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "text"
    root.mkdir()
    random = np.random.default_rng(0)
    for split, count in (("train", 120), ("val", 20), ("test", 15)):
        for language in ("de", "en"):
            lines = (" ".join(random.choice(WORDS, n)) for n in random.integers(1, 9, count))
            (root / f"{split}.{language}").write_text("\n".join(lines) + "\n")
    return root


@pytest.fixture
def data(root, tmp_path):
    def make(corpus=None, **options):
        corpus = corpus or TextCorpus(root, "de", "en", train_max_words=7)
        tokenizer = TokenizerSettings(
            options.pop("kind", "bpe"), 300, 1, options.pop("shared", True)
        )
        values = {"val_sentences": None, "seed": 3, "cache_dir": tmp_path / "cache"} | options
        return TranslationData(corpus, NO_CLEANING, tokenizer, batch_sizes(64, 200), **values)

    return make


class NoText:
    """A corpus with a name and a fingerprint, but without text."""

    def __init__(self, corpus):
        self.name, self.source, self.target = corpus.name, corpus.source, corpus.target
        self.train_max_words, self.limit = corpus.train_max_words, corpus.limit
        self.fingerprint = corpus.fingerprint

    def split(self, name):
        raise AssertionError(f"{name} was read again")


def drawn(loader):
    return [
        [part.tolist() if isinstance(part, torch.Tensor | np.ndarray) else part for part in batch]
        for batch in loader
    ]


def epochs(data, *numbers):
    for number in numbers:
        loader = data.train_dataloader()
        loader.sampler.set_epoch(number)
        yield from (batch.ids.tolist() for batch in loader)


@pytest.mark.parametrize("kind", ["words", "bpe"])
@pytest.mark.parametrize("shared", [True, False])
def test_batches_hold_the_text(data, kind, shared):
    made = data(kind=kind, shared=shared)
    loaders = (made.train_dataloader(), made.val_dataloader(), made.test_dataloader())
    for split, loader in zip(SPLITS, loaders, strict=True):
        text = made.text(split)
        seen = []
        for batch in loader:
            sources = made.tokenizers.source.decode(batch.src.tolist())
            targets = made.tokenizers.target.decode(batch.tgt_out.tolist())
            seen += batch.ids.tolist()
            for index, source, target in zip(batch.ids.tolist(), sources, targets, strict=True):
                assert (source, target) == (text.source[index], text.target[index])
        assert sorted(seen) == list(range(len(text)))


def test_statistics(data, root):
    made = data()
    text = TextCorpus(root, "de", "en", train_max_words=7).split("train")
    small = (
        "the {} vocabulary has 52 tokens, as the training text has no more; "
        "tokenizer.vocabulary_size=300 asks for 300"
    )
    assert made.statistics == {
        "name": "text",
        "source": "de",
        "target": "en",
        "fingerprint": made.fingerprint,
        "pairs": {"train": len(text), "val": 20, "test": 15},
        "left_out": {"train": text.left_out, "val": {}, "test": {}},
        "seen": {},
        "vocabulary": {side: len(made.tokenizers.source) for side in ("source", "target")},
        "suspicions": [small.format(side) for side in ("source", "target")],
        "padding": made.statistics["padding"],
        "statistics": made.encoded_corpus.statistics,
    }
    assert text.left_out == {"longer than 7 words": 120 - len(text)}


def test_fingerprint_changes_with_text_and_tokenizer_but_not_with_batches(data, root):
    made = [data(), data(kind="words"), data(shared=False), data(TextCorpus(root, "en", "de"))]
    assert len({each.fingerprint for each in made}) == len(made)
    assert data(seed=4, val_sentences=2).fingerprint == made[0].fingerprint


def test_a_warm_cache_gives_the_same_without_reading_the_text(data, root):
    cold = data()
    kept = cold.statistics, drawn(cold.train_dataloader()), drawn(cold.val_dataloader())
    warm = data(NoText(cold.corpus))
    assert (warm.statistics, drawn(warm.train_dataloader()), drawn(warm.val_dataloader())) == kept
    assert warm.text("test") == cold.text("test")
    assert warm.tokenizers.source is warm.tokenizers.target


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "other"])
@pytest.mark.parametrize(
    "name", ["source.json", "train.source.tokens.npy", "index.json", "statistics.json"]
)
def test_a_damaged_cache_is_made_again(data, caplog, name, damage):
    cold = data()
    kept = drawn(cold.train_dataloader())
    file = next(cold.cache_dir.glob(f"*/{name}"))
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(
            {"empty": b"", "cut": content[: len(content) // 2], "other": b"{}"}[damage]
        )
    with caplog.at_level(logging.WARNING):
        assert drawn(data().train_dataloader()) == kept
    assert ("damaged" in caplog.text) == (damage != "missing")
    assert name == "statistics.json" or file.read_bytes() == content  # which holds times
    assert drawn(data(NoText(cold.corpus)).train_dataloader()) == kept


class Linked(Corpus):
    """A corpus with gold links in training, or something else."""

    name, source, target = "linked", "de", "en"

    def __init__(self, links):
        self.links = links

    def split(self, name):
        linked = ParallelText(["a b"], ["y x"], self.links)
        return linked if name == "train" else ParallelText(["b a", "a b c"], ["x y", "y x z"])


@pytest.mark.parametrize(("links", "table"), [(["0-1 1-0"], ["y x", "y x c"]), (None, None)])
def test_the_baselines_of_the_training_text_are_kept(data, links, table):
    cold = data(Linked(links))
    for each in (cold, data(NoText(cold.corpus))):
        assert each.encoded_corpus.phrase_table == table
        assert each.encoded_corpus.nearest_copies == ["y x", "y x"]


def test_wrong_links_of_the_training_text_are_one_line(data):
    why = "data=linked, train: gold alignments, line 1: 0-2 points past its sentence pair"
    with pytest.raises(UserError, match=why):
        _ = data(Linked(["0-2"])).encoded_corpus


def test_encoded_text_of_other_vocabularies_is_not_used(data):
    one, other = data(), data(kind="words")
    kept = drawn(one.test_dataloader())
    _ = other.encoded_corpus
    folders = [one.cache_dir / f"text-{each.fingerprint}" for each in (one, other)]
    for side in ("source.json", "target.json"):
        (folders[0] / side).write_bytes((folders[1] / side).read_bytes())
    assert drawn(data().test_dataloader()) == kept


def test_a_cache_that_cannot_be_written(data, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file: this folder cannot be made .*cache_dir=") as caught:
        _ = data(cache_dir=tmp_path / "file").encoded_corpus
    assert "\n" not in str(caught.value)


def test_validation_takes_sentences_from_all_over_the_split(data):
    ids = sorted(chain(*(batch.ids.tolist() for batch in data(val_sentences=5).val_dataloader())))
    assert ids == [0, 4, 8, 12, 16]
    assert len(data(val_sentences=7).val_dataloader().dataset) == 7
    assert len(data(val_sentences=99).val_dataloader().dataset) == 20


def test_a_sentence_too_long_for_the_decoding_budget_names_its_option(data, root):
    (root / "test.de").write_text("Hund " * 300 + "\n")
    (root / "test.en").write_text("dog\n")
    with pytest.raises(UserError, match=r"batching\.decode_max_tokens=200 "):
        data().test_dataloader()


def test_a_pass_leaves_global_random_state_alone(data):
    loader = data().train_dataloader()
    before = torch.get_rng_state()
    assert len(drawn(loader)) == len(loader)
    assert torch.get_rng_state().equal(before)


def test_training_batches_are_packed_where_a_model_reads_them_so(data):
    made = data()
    made.packed = True
    assert made.cannot_pack() is None
    batches = list(made.train_dataloader())
    assert {len(batch.packed.src) for batch in batches} == {128}  # 64 tokens, rounded up
    assert sum(int(batch.packed.tgt_tokens) for batch in batches) == made.training_pairs.tokens
    assert {batch.packed for batch in made.val_dataloader()} == {None}


class Listener(pl.LightningModule):
    """A module that learns nothing and records the sentence ids of each batch."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))
        self.shown = []

    def training_step(self, batch, index):
        self.shown.append(batch.ids.tolist())
        return self.weight * 1

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


@pytest.mark.filterwarnings("ignore")
def test_lightning_shows_the_order_of_each_epoch_and_goes_on_after_a_checkpoint(data, tmp_path):
    def trainer(max_epochs):
        return pl.Trainer(
            max_epochs=max_epochs,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )

    made = data()
    first = trainer(2)
    model = Listener()
    first.fit(model, made)
    first.save_checkpoint(tmp_path / "last.ckpt")
    assert model.shown == list(epochs(made, 0, 1))
    model = Listener()
    trainer(3).fit(model, data(), ckpt_path=tmp_path / "last.ckpt")
    assert model.shown == list(epochs(made, 2))


def test_updates_are_rounded_up_for_recordings(data):
    """Only the rounded form moves to the device: the other tensors would be read by nobody."""
    text = data()
    assert {batch.rounded for batch in text.train_dataloader()} == {None}
    text.rounding = Longest()
    found = list(text.train_dataloader())
    most = text.largest_update()
    for batch in found:
        moved = text.transfer_batch_to_device(batch, torch.device("meta"), 0)
        assert {part.device.type for part in moved.rounded} == {"meta"}
        assert moved.src is batch.src
        assert batch.rounded.src.shape[1] <= most.src.shape[1]
        assert batch.rounded.src.numel() <= 1.13 * text.batching.max_tokens
    [first, *_] = text.val_dataloader()
    whole = text.transfer_batch_to_device(first, torch.device("meta"), 0)
    assert whole.src.device.type == "meta"
