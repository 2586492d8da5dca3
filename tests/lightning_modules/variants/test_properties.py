"""Properties of any model, tested on random combinations of settings.

Recurrent: score × window × query × skeleton; Transformers: positions × norms × sizes.
"""

import io
from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from datamodules.tokenization import BOS, EOS, PAD
from lightning_modules.attention import SCORES, WINDOWS
from lightning_modules.variants.base import EncoderDecoder, select_batch
from lightning_modules.variants.transformer.layers import MixerName
from lightning_modules.variants.transformer.positions import IN_SELF_ATTENTION, Positions
from tests.helpers import recurrent_models
from tests.helpers.variants import transformer

VOCABULARY = 11
EXACT: dict[str, Any] = {"rtol": 0, "atol": 1e-10}
"""Tolerance in float64: products of other shapes round differently."""
SAME_WIDTH = ("dot", "scaled_dot", "cosine")

examples = settings(deadline=None, derandomize=True, max_examples=30, database=None)
flags = st.booleans()


@st.composite
def attentions(draw, query_size: int, memory_size: int, local: bool = True) -> dict:
    score = draw(st.sampled_from([name for name in SCORES if local or name != "location"]))
    fits = query_size == memory_size or score not in SAME_WIDTH
    heads = draw(st.sampled_from([None, 1, 2] if fits else [1, 2]))  # heads bring widths together
    chosen: dict = {"score": score, "heads": heads}
    if score == "location":
        chosen["max_length"] = draw(st.integers(1, 12))
    elif local:
        chosen["window"] = draw(st.sampled_from(list(WINDOWS)))
        chosen["half_width"] = draw(st.integers(chosen["window"] == "local_p", 4))
        chosen["renormalise"] = draw(flags)
    if score == "linear":
        chosen["activation"] = draw(st.sampled_from(["none", "relu", "tanh"]))
    return chosen


@st.composite
def layer_parts(draw) -> dict:
    """Parts of a Transformer's layers, all of them for half of the examples."""
    if draw(flags):
        return {"norm": draw(st.sampled_from(["before", "after"]))}
    mixers = st.sampled_from(get_args(MixerName))
    return {
        "norm": draw(st.sampled_from(["none", "before", "after"])),
        "encoder_mixer": draw(mixers),
        "decoder_mixer": draw(mixers),
        "cross_attention": draw(st.sampled_from(["every", "last"])),
        "residual": draw(flags),
    }


def fits(chosen: dict) -> bool:
    """Return whether a Transformer can be built of these settings, and can tell its inputs apart.

    Of three units of a feed-forward layer all may be 0, which nothing passes but a residual
    connection.
    """
    if chosen["hidden_size"] == 3 and not chosen.get("residual", True):
        return False
    mixers = [chosen.get(f"{side}_mixer", "attention") for side in ("encoder", "decoder")]
    apart = chosen["decoder_positions"]
    if apart is None:
        return chosen["positions"] not in IN_SELF_ATTENTION or "attention" in mixers
    pairs = zip((chosen["positions"], apart), mixers, strict=True)
    return all(kind not in IN_SELF_ATTENTION or mixer == "attention" for kind, mixer in pairs)


@st.composite
def any_transformers(draw) -> dict:
    heads = draw(st.sampled_from([1, 2, 3]))
    size = 2 * draw(st.integers(1, 2))
    kinds = st.sampled_from(get_args(Positions))
    buckets, distance = draw(st.sampled_from([(4, 3), (6, 9), (32, 20)]))
    free_sizes = heads == 3 or draw(flags)  # sizes of heads that need not divide the width
    return {
        "width": 4 * draw(st.integers(1, 2)),
        "heads": heads,
        "hidden_size": draw(st.sampled_from([3, 8, None])),
        "encoder_layers": draw(st.integers(1, 3)),
        "decoder_layers": draw(st.integers(1, 3)),
        "key_size": size,
        "value_size": draw(st.sampled_from([1, 3])) if free_sizes else size,
        **draw(layer_parts()),
        "positions": draw(kinds),
        "decoder_positions": draw(st.none() | kinds),
        "bias_buckets": buckets,
        "bias_distance": distance,
        "max_length": draw(st.sampled_from([4, 20])),
        "relative_distance": draw(st.integers(1, 4)),
        "tied": draw(st.sampled_from(["none", "output", "all"])),
    }


def transformers() -> st.SearchStrategy[dict]:
    return any_transformers().filter(fits)


@st.composite
def recurrent(draw, attending: bool = False) -> dict:
    encoder = {
        "hidden_size": draw(st.sampled_from([2, 4])),
        "bidirectional": draw(flags),
        "merge": draw(st.sampled_from(["concat", "sum"])),
        "reverse_source": draw(flags),
    }
    wide = encoder["bidirectional"] and encoder["merge"] == "concat"
    memory = encoder["hidden_size"] * (2 if wide else 1)
    hidden, embedding = draw(st.sampled_from([memory, 6])), draw(st.sampled_from([3, 4]))
    summary, feeding = draw(flags), draw(flags)
    bridges = ["dense"] + ["copy"] * (hidden == memory) + ["summary"] * summary
    bridges += ["backward"] * encoder["bidirectional"]
    query = {}
    attention = intra = None
    if attending or draw(flags):
        more = draw(flags)
        query = {"state": draw(st.sampled_from(["previous", "current"]))}
        query |= {flag: more and draw(flags) for flag in ("context", "last_token", "language")}
        beside = memory * query["context"] + embedding * (query["last_token"] + query["language"])
        attention = draw(attentions(hidden + beside, memory))
    if draw(flags):
        intra = draw(attentions(hidden, hidden, local=False))
    readout = {
        "kind": draw(st.sampled_from(["maxout", "tanh"])),
        "size": draw(st.sampled_from([3, embedding])),
        "last_token": draw(flags),
    }
    # A readout of the previous state has to read the last token too.
    read = draw(st.sampled_from(["previous", "current"])) if readout["last_token"] else "current"
    readout["state"] = read
    if not (attention or intra or summary) and draw(flags):
        readout = {"kind": "none"}
    tied = draw(flags) and readout.get("size", hidden) == embedding
    return {
        "embedding_size": embedding,
        "hidden_size": hidden,
        "cell": draw(st.sampled_from(["gru", "gru_2014", "lstm"])),
        "layers": draw(st.integers(1, 3)),
        "encoder": encoder,
        "bridge": draw(st.sampled_from(bridges)),
        "summary": summary,
        "attention": attention,
        "query": query,
        "input_feeding": feeding,
        "intra_attention": intra,
        "readout": readout,
        "tied": "output" if tied else "none",
    }


models = st.one_of(recurrent(), transformers())
lengths = st.lists(st.integers(1, 9), min_size=1, max_size=4)
target_lengths = st.integers(2, 12)


def make(chosen: dict) -> EncoderDecoder:
    if "positions" in chosen:
        return transformer(VOCABULARY, **chosen)
    return recurrent_models.recurrent(chosen, VOCABULARY, VOCABULARY)


def build(chosen: dict, dtype: torch.dtype = torch.float64) -> EncoderDecoder:
    torch.manual_seed(0)
    model = make(chosen)
    size = 0.4 if chosen.get("norm") == "none" else 0.8  # numbers grow from layer to layer
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -size, size)
    return model.to(dtype).eval()


def sources(lengths: list[int], padding: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    src = torch.full((len(lengths), max(lengths) + padding), PAD)
    for row, length in enumerate(lengths):
        src[row, :length] = torch.randint(4, VOCABULARY, (length,), generator=generator)
        src[row, length - 1] = EOS
    return src, torch.arange(src.shape[1]) < torch.tensor(lengths).unsqueeze(1)


def targets(batch: int, length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    tgt = torch.randint(4, VOCABULARY, (batch, length), generator=generator)
    tgt[:, 0] = BOS
    return tgt


@torch.no_grad()
def decode(model, src, mask, tgt):
    features, weights = model.decode(model.encode(src, mask), tgt)
    return model.logits(features), weights


def close(one, other):
    torch.testing.assert_close(one[0], other[0], **EXACT)
    assert (one[1] is None) == (other[1] is None)
    if one[1] is not None:
        torch.testing.assert_close(one[1], other[1], **EXACT)


@pytest.mark.long
@examples
@given(st.one_of(recurrent(attending=True), transformers()), lengths, target_lengths)
def test_weights_sum_to_one_and_stay_in_their_window(chosen, lengths, tgt_length):
    src, mask = sources(lengths, padding=2)
    _, weights = decode(build(chosen), src, mask, targets(len(lengths), tgt_length))
    assert weights.shape == (len(lengths), tgt_length, src.shape[1])
    assert weights.min() >= 0
    attention = chosen.get("attention", {"score": "scaled_dot"})
    window, width = attention.get("window", "global"), attention.get("half_width")
    sums = weights.sum(-1)
    if window == "local_p" and not attention["renormalise"]:
        # Eq. 10 of Luong et al. multiplies weights that sum to 1 by a Gaussian that is at most 1
        # and, at the window's edge of two sigma, exp(-2).
        assert sums.max() <= 1 + 1e-12
        assert sums.min() >= 0.1353
    else:
        torch.testing.assert_close(sums, torch.ones_like(sums), **EXACT)
    assert weights.masked_select(~mask.unsqueeze(1)).count_nonzero() == 0
    for row, length in enumerate(lengths):
        for step in range(tgt_length):
            seen = weights[row, step].nonzero().flatten().tolist()
            if attention["score"] == "location":
                assert seen == list(range(min(length, attention["max_length"])))
            elif window == "global":
                assert seen == list(range(length))
            elif window == "local_m":
                centre = min(step, length - 1)
                assert seen == list(range(max(0, centre - width), min(length, centre + width + 1)))
            else:  # around a centre that is no whole number
                assert seen == list(range(seen[0], seen[-1] + 1))
                assert len(seen) <= 2 * width + 1


@pytest.mark.long
@examples
@given(models, lengths, st.integers(0, 5), st.randoms(use_true_random=False))
def test_padding_and_the_order_of_a_batch_change_nothing(chosen, lengths, padding, random):
    model = build(chosen)
    src, mask = sources(lengths, padding)
    tgt = targets(len(lengths), 6)
    logits, weights = decode(model, src, mask, tgt)
    noise = torch.randint(4, VOCABULARY, src.shape, generator=torch.Generator().manual_seed(3))
    close((logits, weights), decode(model, src.where(mask, noise), mask, tgt))
    order = random.sample(range(len(lengths)), len(lengths))
    shuffled = decode(model, src[order], mask[order], tgt[order])
    close(shuffled, (logits[order], None if weights is None else weights[order]))
    for row, length in enumerate(lengths):
        one = slice(row, row + 1)
        alone = decode(model, src[one, :length], mask[one, :length], tgt[one])
        close(alone, (logits[one], None if weights is None else weights[one, :, :length]))


@pytest.mark.long
@examples
@given(models, lengths, target_lengths, st.randoms(use_true_random=False))
def test_incremental_equals_teacher_forced(chosen, lengths, tgt_length, random):
    """A search may also reorder and repeat its hypotheses half-way."""
    model = build(chosen)
    src, mask = sources(lengths)
    tgt = targets(len(lengths), tgt_length)
    logits, weights = decode(model, src, mask, tgt)
    rows = torch.arange(len(lengths))
    with torch.no_grad():
        memory = model.encode(src, mask)
        state = model.initial_state(memory)
        for position in range(tgt_length):
            if position == tgt_length // 2:
                index = torch.tensor([random.randrange(len(rows)) for _ in range(5)])
                memory, state, rows = (select_batch(x, index) for x in (memory, state, rows))
            step = model.step(memory, state, tgt[rows, position])
            expected = (
                logits[rows, position],
                None if weights is None else weights[rows, position],
            )
            close((model.logits(step.features), step.weights), expected)
            state = step.state


@pytest.mark.long
@examples
@given(models, lengths, st.data())
def test_later_target_tokens_change_nothing_earlier(chosen, lengths, data):
    model = build(chosen)
    src, mask = sources(lengths)
    tgt = targets(len(lengths), 8)
    changed_from = data.draw(st.integers(1, 7))
    later = tgt.clone()
    later[:, changed_from:] = (later[:, changed_from:] - 4 + 3) % (VOCABULARY - 4) + 4
    one, other = decode(model, src, mask, tgt), decode(model, src, mask, later)
    early = slice(None), slice(changed_from)
    close(*(tuple(None if x is None else x[early] for x in result) for result in (one, other)))
    if chosen.get("readout", {}).get("state") != "previous":  # which sees a token one step later
        assert not torch.allclose(one[0][:, changed_from:], other[0][:, changed_from:])
    prefix = decode(model, src, mask, tgt[:, :changed_from])
    close(prefix, tuple(None if part is None else part[early] for part in one))


@pytest.mark.long
@examples
@given(models, lengths)
def test_a_saved_model_gives_the_same_output(chosen, lengths):
    model = build(chosen)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    torch.manual_seed(1)
    other = make(chosen).double().eval()
    given = *sources(lengths), targets(len(lengths), 5)
    before = decode(other, *given)[0]
    other.load_state_dict(torch.load(file, weights_only=True))
    (logits, weights), (same, same_weights) = decode(model, *given), decode(other, *given)
    assert not torch.allclose(before, logits)
    assert logits.equal(same)
    assert (weights is None and same_weights is None) or weights.equal(same_weights)


@pytest.mark.long
@examples
@given(models, lengths, target_lengths)
def test_bfloat16_stays_finite(chosen, lengths, tgt_length):
    model = build(chosen, torch.float32)
    src, mask = sources(lengths, padding=1)
    tgt = targets(len(lengths), tgt_length)
    exact = decode(model, src, mask, tgt)
    with torch.autocast("cpu", torch.bfloat16):
        features, weights = model.decode(model.encode(src, mask), tgt)
        logits = model.logits(features)
        logits.float().logsumexp(-1).sum().backward()
        with torch.no_grad():
            memory = model.encode(src, mask)
            state = model.initial_state(memory)
            for position in range(tgt_length):
                step = model.step(memory, state, tgt[:, position])
                assert model.logits(step.features).isfinite().all()
                assert step.weights is None or step.weights.isfinite().all()
                state = step.state
    assert logits.isfinite().all()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert gradients
    assert all(gradient.isfinite().all() for gradient in gradients)
    if weights is not None:
        assert weights.isfinite().all()
        assert weights.masked_select(~mask.unsqueeze(1)).count_nonzero() == 0
        # A window may jump by a position, and without norms energies are large.
        if chosen.get("attention", {}).get("window") != "local_p" and chosen.get("norm") != "none":
            torch.testing.assert_close(weights.float(), exact[1], rtol=0, atol=0.2)
            torch.testing.assert_close(logits.float(), exact[0], rtol=0.2, atol=0.2)
