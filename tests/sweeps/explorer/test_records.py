"""What the page reads of a trace."""

import base64
import json
import zlib

import numpy as np
import pytest

from sweeps.explorer.records import ending, trace_record
from sweeps.explorer.tracer import Trace, TraceStep
from sweeps.report.html import packed
from tests.helpers.explorers import SOURCES, tracer


@pytest.fixture(scope="module", params=["bahdanau", "transformer", "seq2seq"])
def pair(request):
    trace = tracer(request.param)(SOURCES[1])
    return trace, trace_record(trace, "a system")


def test_a_record_is_plain_json_also_packed(pair):
    record = pair[1]
    assert json.loads(json.dumps(record, allow_nan=False)) == json.loads(json.dumps(record))
    unpacked = json.loads(zlib.decompress(base64.b64decode(packed(record))))
    assert unpacked == json.loads(json.dumps(record))


def test_words_multiply_the_probabilities_of_their_tokens(pair):
    trace, record = pair
    assert [word for word, _ in record["words"]] == trace.text.split()
    inside = [step.probability for step in trace.steps if step.word >= 0]
    assert np.prod([p for _, p in record["words"]]) == pytest.approx(np.prod(inside), rel=1e-2)


def test_every_line_of_the_tree_joins_two_nodes_of_adjacent_steps(pair):
    trace, record = pair
    nodes, links = (record["beam"]["datasets"][name] for name in ("nodes", "links"))
    assert len(nodes) == len(links) + 1 == len(trace.nodes) + 1
    places = {(node["step"], node["place"]) for node in nodes}
    for link in links:
        assert link["step"] == link["before"] + 1
        assert {(link["step"], link["place"]), (link["before"], link["from"])} <= places
    best = [node for node in nodes if node["best"]]
    assert [node["step"] for node in best] == list(range(len(trace.steps) + 1))


def test_a_map_has_a_row_for_each_step(pair):
    trace, record = pair
    drawn = record["map"]
    if trace.weights is None:
        assert drawn is None
        return
    assert len(drawn["target"]) == len(drawn["weights"]) == len(trace.steps)
    assert len(drawn["source"]) == len(drawn["weights"][0]) == len(trace.source)
    assert ("heads" in drawn) == (trace.heads is not None)


def trace_of(ends, is_cut):
    """A trace whose steps have these probabilities of the end."""
    steps = [TraceStep("a", 0, 0.5, eos, eos > 0.5, []) for eos in ends]
    return Trace("a", [], [], steps, is_cut, None, None, [], [], [])


@pytest.mark.parametrize(
    ("ends", "is_cut", "words"),
    [
        ([0.1, 0.9], False, "ends after 1 token, where the end has a probability of 0.90"),
        ([0.1, 0.1, 0.4], False, "ends after 2 tokens, where the end has a probability of 0.40 "
                                 "and another token is more probable"),
        ([0.1, 0.6, 0.9], False, "it is the most probable token after 1 token already, but the "
                                 "longer translation has the better score"),
        ([0.1, 0.2], True, "stops at the length limit of 2 tokens; the end is the most probable "
                           "token nowhere"),
        ([0.6, 0.2], True, "though the end is the most probable token after 0 tokens"),
    ],
)  # fmt: skip
def test_where_the_end_wins_in_words(ends, is_cut, words):
    assert words in ending(trace_of(ends, is_cut))
