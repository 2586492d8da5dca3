"""Forms of the French subjunctive and conditional, by the rules of school grammars."""

IRREGULAR = {
    "être": "sois soit soyons soient", "avoir": "aie ait ayons aient",
    "aller": "aille aille allions aillent", "faire": "fasse fasse fassions fassent",
    "pouvoir": "puisse puisse puissions puissent", "savoir": "sache sache sachions sachent",
    "vouloir": "veuille veuille voulions veuillent", "valoir": "vaille vaille valions vaillent",
}  # fmt: skip
AVOIR = {
    "present": "ai a avons ont", "imperfect": "avais avait avions avaient",
    "future": "aurai aura aurons auront",
}  # fmt: skip
"""Forms of the auxiliary, which is no verb of the lists."""


def subjunctive(infinitive: str, present: list[str], imperfect: list[str]) -> list[str]:
    """Return the forms of *je, il, nous, ils*.

    The singular is *ils* of the present without *-nt* (*ils prennent*: *je prenne*), *nous* is that
    of the imperfect (*nous prenions*).
    """
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive].split()
    singular = present[3].removesuffix("nt")
    return [singular, singular, imperfect[2], present[3]]


def conditional(future: list[str]) -> list[str]:
    """Return the forms of *je, il, nous, ils*: the stem of the future with *-ais, -ait* …"""
    stem = future[0].removesuffix("ai")
    return [stem + ending for ending in ("ais", "ait", "ions", "aient")]
