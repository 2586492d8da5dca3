"""Text for a trained run is cleaned as the training text of the run was."""

import json

import pytest

from tests.helpers.commands import TINY, inside, mistake, places

CLEAN = 'l\'enfant dort, "non", café.'
"""French as Moses's rules leave it, composed."""
GIVEN = "l\u2019enfant  dort, \u201cnon\u201d, cafe\u0301."


@pytest.fixture(scope="module")
def trained(space):
    """A run whose source language is French."""
    folder = space / "run"
    languages = ["data.source=fr", "data.target=en", "cleaning=standard"]
    inside(*languages, *TINY, *places(space), "logger=none", f"hydra.run.dir={folder}")
    return folder


def translated(space, trained, line, *further):
    (space / "given").write_text(f"{line}\n")
    inside(
        "task=translate", f"checkpoint={trained}", f"input={space / 'given'}",
        f"output={space / 'output'}", *further,
    )  # fmt: skip
    return (space / "output").read_text()


@pytest.mark.long
def test_both_writings_get_the_same_translation(space, trained):
    from lightning_modules.training.checkpoints import load_trained

    run = load_trained(trained)
    assert run.languages == ("fr", "en")
    assert run.cleaning.lines([GIVEN], "fr") == [CLEAN]
    assert translated(space, trained, GIVEN) == translated(space, trained, CLEAN)


@pytest.mark.long
def test_an_alignment_counts_the_words_that_the_user_sees(space, trained):
    alignments = f"alignments={space / 'alignments'}"
    translated(space, trained, CLEAN, alignments)
    (space / "given").write_text("a b\n«\u00a0a b\n")
    given = [f"checkpoint={trained}", f"input={space / 'given'}"]
    line = mistake("task=translate", *given, alignments, f"output={space / 'output'}")
    assert "number of words of sentence 2" in line
    (space / "targets").write_text("a\nb\n")
    files = [f"sources={space / 'given'}", f"targets={space / 'targets'}"]
    line = mistake("task=align", f"checkpoint={trained}", *files, f"hydra.run.dir={space / 'a'}")
    assert "number of words of sentence 2" in line


@pytest.mark.long
def test_sources_of_an_alignment_are_cleaned(space, trained):
    (space / "targets").write_text("the child\n")
    lines = {}
    for name, source in {"clean": CLEAN, "given": GIVEN}.items():
        (space / "sources").write_text(f"{source}\n")
        folder = space / f"aligned-{name}"
        inside(
            "task=align", f"checkpoint={trained}", f"sources={space / 'sources'}",
            f"targets={space / 'targets'}", f"hydra.run.dir={folder}",
        )  # fmt: skip
        lines[name] = (folder / "soft_alignments.txt").read_text()
        assert json.loads((folder / "alignment.json").read_text())["aligned"] == 1
    assert lines["given"] == lines["clean"]
