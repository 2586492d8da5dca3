"""Passwords in addresses stay out of what is written."""

import logging

import pytest

from lightning_modules.runs.redaction import Redacting, redact_files, redact_multirun, redacted

PLANTED = "pl4nted"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (f"postgresql://me:{PLANTED}@host:5432/db", "postgresql://me:***@host:5432/db"),
        (f"at http://me:{PLANTED}@@host/ now", "at http://me:***@host/ now"),
        (f"redis://:{PLANTED}@host", "redis://:***@host"),
        (f"'mysql+x://a:{PLANTED}@b', 'c@d'", "'mysql+x://a:***@b', 'c@d'"),
        (f"s=x\\://me\\:{PLANTED}@host\\:1/d", "s=x\\://me\\:***@host\\:1/d"),  # an override
        (f"x://host/db?user=me&password={PLANTED}", "x://host/db?user=me&password=***"),
        (f"x://host/?Password={PLANTED}&a=b", "x://host/?Password=***&a=b"),
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("ratio 3:1 @ noon", "ratio 3:1 @ noon"),
    ],
)
def test_a_password_in_an_address_is_hidden_and_nothing_else(text, written):
    assert redacted(text) == written
    assert redacted({"a": [text, 1, None], text: 2.5}) == {"a": [written, 1, None], written: 2.5}


def test_logs_and_their_tracebacks_tell_none(tmp_path):
    root, file = logging.getLogger(), tmp_path / "log"
    handler = logging.FileHandler(file)
    handler.setFormatter(Redacting("%(message)s"))
    root.addHandler(handler)
    try:
        try:
            raise ValueError(f"http://me:{PLANTED}@host")
        except ValueError:
            logging.exception("storage=%s", f"http://me:{PLANTED}@host")
    finally:
        root.removeHandler(handler)
        handler.close()
    text = file.read_text()
    assert "storage=http://me:***@host\n" in text
    assert "ValueError: http://me:***@host" in text
    assert PLANTED not in text


def test_files_without_a_password_are_left_alone(tmp_path):
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(f"storage: http://me:{PLANTED}@host\nseed: 1\n")
    other.write_text("seed: 1\n")
    before = other.stat()
    redact_files(tmp_path.glob("*.yaml"))
    assert one.read_text() == "storage: http://me:***@host\nseed: 1\n"
    assert other.stat().st_ino == before.st_ino


def test_a_multirun_that_is_over_leaves_none(tmp_path):
    job = tmp_path / ".submitit" / "7_0"
    job.mkdir(parents=True)
    (job / "7_0_submitted.pkl").write_text(f"http://me:{PLANTED}@host")
    (job / "7_0_0_log.out").write_text("done\n")
    (tmp_path / "multirun.yaml").write_text(f"storage: http://me:{PLANTED}@host\n")
    redact_multirun(tmp_path)
    assert [file.name for file in job.iterdir()] == ["7_0_0_log.out"]
    assert (tmp_path / "multirun.yaml").read_text() == "storage: http://me:***@host\n"
