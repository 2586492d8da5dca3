"""Separate parts of verbs whose loss or change is no error, or hardly one."""

IDLE = {
    "en": frozenset(
        (
            "cool down", "grow up", "hand over", "hang up", "rent out", "slow down", "tip over",
            "wake up", "warm up",
        )
    ),
    "de": frozenset(
        (
            "borrow", "choose:transitive", "disgust", "dress", "grow up", "hang up", "lick", "lift",
            "offer:ditransitive", "pass:ditransitive", "pour", "prepare", "slow down",
            "succeed:prepositional", "swell", "throw:ditransitive", "tip over", "wake up",
            "warm up",
        )
    ),
}  # fmt: skip
"""Verbs that say nearly the same without their part (*weckt ihn*, *weckt ihn auf*), by language."""
ALIKE = frozenset(
    (
        ("care", "for"), ("comment", "about"), ("knock", "down"), ("throw", "out"), ("wait", "on"),
        ("bauen", "auf"), ("fahren", "weg"), ("gehen", "aus"), ("hören", "an"), ("leiten", "zu"),
        ("schalten", "ab"), ("schalten", "an"), ("schauen", "an"), ("treten", "ab"),
    )
)  # fmt: skip
"""Verbs with parts that the word lists lack, which say nearly the same as a verb of the lists."""
