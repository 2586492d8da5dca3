"""The outcomes of the tests on a GPU, kept as soon as a test has failed."""

from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

SHOWN = 300  # letters of an error that are kept


class Outcomes:
    """A plugin of pytest that counts outcomes and names the tests that fail."""

    def __init__(self, say: Callable[[dict[str, Any]], None]) -> None:
        self._say = say
        self._counts: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a test; a failure while it is set up counts too."""
        if report.when == "call" or report.outcome != "passed":
            self._counts[report.outcome] += 1
            if report.outcome == "failed":
                crash = getattr(report.longrepr, "reprcrash", None)
                why = crash.message if crash else str(report.longrepr)
                self._say({"failed": report.nodeid, "why": " ".join(why.split())[:SHOWN]})

    def pytest_collection_finish(self, session: Any) -> None:
        """Count what is collected, where nothing is run."""
        if session.config.option.collectonly:
            self._counts["collected"] = len(session.items)

    def report(self) -> None:
        """Keep the counts."""
        self._say(dict(self._counts))


def workers() -> list[str]:
    """Return arguments for several processes, where pytest-xdist is installed."""
    return ["-n", "6", "--dist", "loadfile"] if find_spec("xdist") else []
