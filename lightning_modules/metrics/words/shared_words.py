"""Words that a translation shares with its reference, in the order of both."""

from collections.abc import Sequence
from difflib import SequenceMatcher


def shared_words(reference: Sequence[str], translation: Sequence[str]) -> dict[int, int]:
    """Return the place in the translation of each shared word, by its place in the reference.

    These are the matching blocks of Ratcliff and Obershelp, as in ``difflib``.
    """
    matcher = SequenceMatcher(None, reference, translation, autojunk=False)
    return {
        block.a + place: block.b + place
        for block in matcher.get_matching_blocks()
        for place in range(block.size)
    }
