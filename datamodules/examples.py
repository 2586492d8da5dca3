"""The few sentences that messages and tables show of many."""

from collections.abc import Iterable

EXAMPLES = 3
LONGEST_EXAMPLE = 80


def examples_of(lines: Iterable[str]) -> list[str]:
    """Return the first different lines, shortened."""
    found: dict[str, None] = {}
    for line in lines:
        short = line if len(line) <= LONGEST_EXAMPLE else f"{line[: LONGEST_EXAMPLE - 1]}…"
        found[short] = None
        if len(found) == EXAMPLES:
            break
    return list(found)
