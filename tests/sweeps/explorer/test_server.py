"""Requests to the explorer's server: bounded, refused in one line, from this machine alone."""

import json
import threading

import pytest

from sweeps.explorer.page import Explorer
from tests.helpers.explorers import SOURCES, explorer
from tests.helpers.refusals import refused

pytest.importorskip("werkzeug", reason="the extra explore is missing")

from werkzeug.test import Client

from sweeps.explorer.server import MOST_BYTES, ExplorerApp, make_explorer_server


@pytest.fixture(scope="module")
def app():
    return ExplorerApp(explorer("bahdanau", "transformer"), seconds=60.0)


@pytest.fixture
def client(app):
    return Client(app)


def asked(client, content, **more):
    return client.post("/trace", json=content, **more)


def test_a_sentence_gets_its_record(client):
    answer = asked(client, {"system": 1, "source": SOURCES[0]})
    assert answer.status_code == 200
    assert answer.json["map"]["heads"]
    assert answer.json["words"]


def test_the_page_is_served_with_a_policy(client):
    page = client.get("/")
    assert page.status_code == 200
    assert page.mimetype == "text/html"
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "content",
    [{}, [], "text", {"system": 2, "source": "a"}, {"system": -1, "source": "a"},
     {"system": "0", "source": "a"}, {"system": 0, "source": 7}, {"system": 0}],
)  # fmt: skip
def test_a_question_that_is_none_is_refused(client, content):
    answer = asked(client, content)
    assert answer.status_code == 400
    assert "source" in answer.json["error"]


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("/trace", {"method": "GET"}, 405),
        ("/", {"method": "POST"}, 405),
        ("/../run.py", {"method": "GET"}, 404),
        ("/trace", {"method": "POST", "data": b"{", "content_type": "application/json"}, 400),
        ("/trace", {"method": "POST", "data": {"system": "0", "source": "a"}}, 415),
        ("/trace", {"method": "POST", "data": b'{"system":0}', "content_type": "text/plain"}, 415),
        ("/trace", {"method": "POST", "data": b"x" * (MOST_BYTES + 1),
                    "content_type": "application/json"}, 413),
        ("/", {"method": "GET", "headers": {"Host": "evil.example"}}, 400),
    ],
)  # fmt: skip
def test_other_requests_end_in_one_line(client, path, given, status):
    answer = client.open(path, **given)
    assert answer.status_code == status
    assert "\n" not in answer.json["error"]
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("source", "words"), [("", "the sentence is empty"), ("cat " * 300, "max_line_tokens=200")]
)
def test_a_sentence_that_is_refused_says_why(client, source, words):
    answer = asked(client, {"system": 0, "source": source})
    assert answer.status_code == 400
    assert words in answer.json["error"]


def test_a_search_that_takes_too_long_ends():
    client = Client(ExplorerApp(explorer("bahdanau"), seconds=1e-9))
    answer = asked(client, {"system": 0, "source": SOURCES[0]})
    assert answer.status_code == 400
    assert "request_seconds=1e-09" in answer.json["error"]


class StuckExplorer(Explorer):
    """Translates only once it may."""

    started, may_end = threading.Event(), threading.Event()

    def record(self, number, sentence, seconds=None):
        self.started.set()
        self.may_end.wait()
        raise RuntimeError("a defect")


def test_one_sentence_at_a_time_and_a_defect_ends_no_server(caplog):
    whole = explorer("bahdanau")
    client = Client(ExplorerApp(StuckExplorer(*whole), seconds=0.05))
    answers = []
    question = {"system": 0, "source": "the"}
    first = threading.Thread(target=lambda: answers.append(asked(client, question)))
    first.start()
    StuckExplorer.started.wait()
    waits = asked(Client(client.application), question)
    assert waits.status_code == 503
    StuckExplorer.may_end.set()
    first.join()
    assert answers[0].status_code == 500
    assert "a defect" not in json.dumps(answers[0].json)
    assert "a defect" in caplog.text


def test_the_server_listens_on_this_machine_alone_and_a_taken_port_is_named(app):
    server = make_explorer_server(app, 0)
    try:
        assert server.server_address[0] == "127.0.0.1"
        with refused(f"port={server.port}: ", "give another, or port=0 for any"):
            make_explorer_server(app, server.port)
    finally:
        server.server_close()
