"""The lexicon as objects: every word with its English and French forms."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from datamodules.grammar.languages import english, french
from datamodules.grammar.languages.french import Conjugation

Pairs = tuple[tuple[int, int], ...]
"""Word links, source word first, counted from 0."""

ANIMATE = ("person", "animal")
VISIBLE = (
    *ANIMATE,
    "thing",
    "clothes",
    "text",
    "food",
    "drink",
    "furniture",
    "vehicle",
    "place",
    "landmark",
)


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun or a name; an uncountable noun has empty plural forms."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str
    kind: str
    """Semantic class, for example ``person`` or ``food``."""
    links: Pairs

    @property
    def counted(self) -> bool:
        """Whether the noun has a plural and takes *a*."""
        return bool(self.english_plural)


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective with its French forms; ``liaison`` is the masculine form before a vowel."""

    english: str
    masculine: str
    feminine: str
    liaison: str
    masculine_plural: str
    feminine_plural: str
    before: bool
    """Whether the French adjective stands before the noun."""
    kinds: tuple[str, ...]
    graded: bool
    """Whether *very*, *too* or *as* may stand before the adjective."""
    predicative: bool
    """Whether the adjective may stand after *be*."""

    def agreed(self, gender: str, plural: bool) -> str:
        """Return the French form for a noun of the given gender and number."""
        if gender == "f":
            return self.feminine_plural if plural else self.feminine
        return self.masculine_plural if plural else self.masculine


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb; ``english`` and its forms may end in a particle (*look at*)."""

    english: str
    third: str
    past: str
    """English past; empty for a verb whose past is spelt like the present and is not used."""
    french: Conjugation
    complement: str
    """Fixed French word after the verb (*besoin* in *avoir besoin*), or empty."""
    state: bool
    """Whether the English past is a French imperfect."""
    moves: bool
    """Whether the French auxiliary is *être*."""
    preposition: tuple[str, str]
    """English and French preposition before the object; either may be empty."""
    subjects: tuple[str, ...]
    objects: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Fixed:
    """An invariable expression: an adverb, a preposition, a conjunction."""

    english: str
    french: str
    links: Pairs
    kinds: tuple[str, ...] = ()
    """Classes of nouns that may follow a preposition."""


def _tables(name: str) -> dict[str, list[str]]:
    """Read the lines of each table of a file; ``[NAME]`` begins a table, ``#`` a comment."""
    tables: dict[str, list[str]] = {}
    for line in files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines = tables[line.strip("[]")] = []
        elif not line.startswith("#") and tables:
            lines.append(line)
    return tables


TABLES = _tables("nouns.txt") | _tables("verbs.txt")


def _rows(table: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each entry of a table with the heading above the entry."""
    heading = ""
    for line in table:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 1:
            yield heading, cells
        elif line:
            heading = line


def _links(cell: str, english_text: str, french_text: str) -> Pairs:
    if cell:
        pairs = (pair.split("-") for pair in cell.split())
        return tuple((int(i), int(j)) for i, j in pairs)
    english_words, french_words = len(english_text.split()), len(french_text.split())
    if english_words > 1 and french_words > 1:
        raise ValueError("an expression of several words on both sides needs its word links")
    return tuple((i, j) for i in range(english_words) for j in range(french_words))


def _noun(kind: str, cells: list[str]) -> Noun:
    singular, _, plural = cells[0].partition("/")
    french_singular, _, french_plural = cells[1].partition("/")
    counted = plural != "-"
    return Noun(
        singular,
        (plural or english.plural(singular)) if counted else "",
        french_singular,
        (french_plural or french.plural(french_singular)) if counted else "",
        cells[2],
        kind,
        _links("".join(cells[3:]), singular, french_singular),
    )


def _adjective(place: str, cells: list[str]) -> Adjective:
    masculine, *irregular = cells[1].split("/")
    feminine = irregular[0] if irregular else french.feminine(masculine)
    invariable = irregular == [masculine]
    return Adjective(
        cells[0],
        masculine,
        feminine,
        irregular[1] if len(irregular) > 1 else masculine,
        masculine if invariable else french.plural(masculine),
        feminine if invariable else french.plural(feminine),
        place == "before",
        tuple(cells[2].split()),
        cells[0] not in TABLES["UNGRADED"][0].split(),
        cells[0] not in TABLES["ATTRIBUTIVE"][0].split(),
    )


def _classes(cell: str, any_: tuple[str, ...]) -> tuple[str, ...]:
    return any_ if cell == "any" else tuple(cell.split())


def _verb(cells: list[str], preposition: str = "/", objects: str = "") -> Verb:
    base, _, past = cells[0].partition("/")
    infinitive, _, complement = cells[1].rstrip("~+").partition(" ")
    english_preposition, french_preposition = preposition.split("/")
    return Verb(
        base,
        english.third_person(base),
        "" if past == "-" else past or english.past(base),
        french.conjugate(infinitive),
        complement,
        cells[1].endswith("~"),
        cells[1].endswith("+"),
        (english_preposition, french_preposition),
        _classes(cells[2] if len(cells) > 2 else "person", ANIMATE),
        _classes(objects, VISIBLE),
    )


def _fixed(cells: list[str], kinds: str = "", links: str = "") -> Fixed:
    pairs = _links(links, cells[0], cells[1])
    return Fixed(cells[0], cells[1], pairs, tuple(kinds.split()))


NOUNS = tuple(_noun(kind, cells) for kind, cells in _rows(TABLES["NOUNS"]))
NAMES = tuple(_noun("name", [*cells, ""]) for _, cells in _rows(TABLES["NAMES"]))
ADJECTIVES = tuple(_adjective(place, cells) for place, cells in _rows(TABLES["ADJECTIVES"]))
TRANSITIVE = tuple(_verb(cells, objects=cells[3]) for _, cells in _rows(TABLES["TRANSITIVE"]))
INTRANSITIVE = tuple(_verb(cells) for _, cells in _rows(TABLES["INTRANSITIVE"]))
PREPOSITIONAL = tuple(
    _verb([*cells[:2], cells[3]], cells[2], cells[4]) for _, cells in _rows(TABLES["PREPOSITIONAL"])
)
DITRANSITIVE = tuple(
    _verb(cells[:2], "/à", objects=cells[2]) for _, cells in _rows(TABLES["DITRANSITIVE"])
)
REPORTING = tuple(_verb(cells) for _, cells in _rows(TABLES["REPORTING"]))
PLACE_PREPOSITIONS = tuple(
    _fixed(cells, cells[2], "".join(cells[3:])) for _, cells in _rows(TABLES["PLACE_PREPOSITIONS"])
)
COMPANY_PREPOSITIONS = tuple(
    _fixed(cells, cells[2]) for _, cells in _rows(TABLES["COMPANY_PREPOSITIONS"])
)
PLACE_ADVERBS = tuple(_fixed(cells) for _, cells in _rows(TABLES["PLACE_ADVERBS"]))
TIME_ADVERBS = {
    tense: tuple(
        _fixed(cells, links="".join(cells[2:]))
        for heading, cells in _rows(TABLES["TIME_ADVERBS"])
        if heading == tense
    )
    for tense in ("habit", "present", "past", "future")
}
FREQUENCIES = tuple(_fixed(cells) for _, cells in _rows(TABLES["FREQUENCIES"]))
DEGREES = tuple(_fixed(cells) for _, cells in _rows(TABLES["DEGREES"]))
