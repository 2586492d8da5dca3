"""Where the pairs of a split stand: line-aligned files, test sets by name, and their digests.

sacreBLEU's ``wmt14`` is the official test set of WMT 2014 (2,737 pairs between English and German,
as in Luong et al. 2015), ``wmt14/full`` the one released later (3,003 pairs, as in Vaswani et al.
2017); between English and French both have 3,003 pairs.
"""

import hashlib
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path
from typing import Any

from typing_extensions import override

from datamodules.errors import UserError, one_line
from datamodules.files import locked, what_is, write_json
from datamodules.lines import COMPRESSED, read_blocks, read_content, unreadable

Block = tuple[Sequence[str], Sequence[str]]  # source and target lines of neighbouring pairs
SETTLED = 2e9  # nanoseconds after which another change of a file has another time
OPTION = "data.test_sets"
GIVEN = ("name", "data", "description", "citation", "md5", "langpairs")
"""What a test set of sacreBLEU is made from."""
_NEWSTEST = re.compile(r"newstest20([0-9]{2})")


class PairSource(ABC):
    """Pairs that are read in order, a block at a time."""

    name: str  # name of the pairs as a test set
    sides: tuple[str, str]  # where the source side and the target side stand, for messages
    files: tuple[Path, ...] = ()  # files whose content decides the pairs
    identity: str = ""  # what decides the pairs besides the content of the files
    references: tuple[Path, ...] = ()  # files with further references of the target side
    unit: str = "line"  # what ``first`` counts
    first: int = 1  # number of the first pair

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield all pairs. Raises ``UserError`` if they cannot be read."""


@dataclass
class TwoFiles(PairSource):
    """Two line-aligned files."""

    name: str
    pair: tuple[Path, Path]
    references: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        self.files = (*self.pair, *self.references)
        self.sides = str(self.pair[0]), str(self.pair[1])

    @override
    def blocks(self) -> Iterator[Block]:
        for source, target in zip_longest(*map(read_blocks, self.pair), fillvalue=()):
            if len(source) != len(target):
                _refuse_unequal(self.pair)
            yield source, target


def find_file(folder: Path, name: str) -> Path | None:
    """Return a file of a folder, plain or else compressed; None if there is none.

    Raises ``UserError`` for something that is not a file.
    """
    for path in (folder / f"{name}{suffix}" for suffix in ("", *COMPRESSED)):
        if path.is_file():
            return path
        if path.exists() or path.is_symlink():
            raise UserError(f"{path} {what_is(path)}, but a file is needed")
    return None


def find_references(folder: Path, name: str) -> list[Path]:
    """Return the files of all references: ``NAME`` or ``NAME.0``, ``NAME.1``, ``NAME.2``, …"""
    found, file = [], find_file(folder, name) or find_file(folder, f"{name}.0")
    while file is not None:
        found.append(file)
        file = find_file(folder, f"{name}.{len(found)}")
    return found


def _refuse_unequal(files: Sequence[Path]) -> None:
    counts = [sum(map(len, read_blocks(file))) for file in files]
    raise UserError(
        f"{files[0]} has {counts[0]} lines but {files[1]} has {counts[1]}: line n of one must "
        "translate line n of the other; fix the files, or set data.root=..."
    )


def find_test_set(
    name: str,
    source: str,
    target: str,
    places: Iterable[Path],
    folder: Path | None,
    option: str = OPTION,
) -> TwoFiles:
    """Return the files of a test set; sacreBLEU downloads what is missing.

    ``name`` is a name of sacreBLEU, ``newstestYYYY``, or that of files ``NAME.{language}`` in one
    of ``places``. sacreBLEU keeps its test sets in ``folder``, by default in ``$SACREBLEU`` or
    ``~/.sacrebleu``. ``option`` is the setting that names the set, for messages.

    Raises ``UserError`` for an unknown name, language pair or folder, and if the download fails.
    """
    if folder is not None and not folder.is_dir():
        raise UserError(f"{OPTION}_folder={folder}: {what_is(folder)}; give a folder or make it")
    for place in places:
        sources = find_file(place, f"{name}.{source}")
        references = find_references(place, f"{name}.{target}")
        if sources is not None and references:
            return TwoFiles(name, (sources, references[0]), tuple(references[1:]))
    known, raw = _dataset(name, f"{source}-{target}", folder, option)
    with _fetching(name, known, raw, option):
        first = known.get_source_file(f"{source}-{target}")
        reference, *further = map(Path, known.get_reference_files(f"{source}-{target}"))
    return TwoFiles(name, (Path(first), reference), tuple(further))


def _dataset(name: str, pair: str, folder: Path | None, option: str) -> tuple[Any, Path]:
    from sacrebleu.dataset import DATASETS, base  # a large table, which --help does not need

    newstest = _NEWSTEST.fullmatch(name)
    known = DATASETS.get(f"wmt{newstest[1]}" if newstest else name)
    if known is None:
        near = get_close_matches(name, DATASETS, 3, 0.5)
        hint = f"did you mean {', '.join(near)}?" if near else "sacrebleu --list lists the names"
        raise UserError(f"{option}: no test set {name}, neither as files nor in sacreBLEU; {hint}")
    # The files of wmt15 from English to French, for example, are no newstest2015.
    pairs = {
        languages
        for languages, files in known.langpairs.items()
        if newstest is None or any(name in str(file) for file in files)
    }
    if pair not in pairs:
        raise UserError(
            f"{option}: {name} is not there for {pair}; sacreBLEU has it for "
            f"{', '.join(sorted(pairs)) or 'no languages'}"
        )
    usual = base.SACREBLEU_DIR
    if folder is None:
        return known, Path(usual, known.name, "raw")
    # sacreBLEU has no argument for its folder, only a variable, which a test set reads when made.
    base.SACREBLEU_DIR = str(folder)
    try:
        given = {key: value for key, value in vars(known).items() if key in GIVEN}
        return type(known)(**given, **known.kwargs), folder / known.name / "raw"
    finally:
        base.SACREBLEU_DIR = usual


@contextmanager
def _fetching(name: str, known: Any, raw: Path, option: str) -> Iterator[None]:
    """Turn errors of a download into one line; leave no broken download in ``raw`` behind."""
    before = set(raw.glob("*"))
    try:
        yield
    except (Exception, SystemExit) as error:  # sacreBLEU ends the process at a wrong checksum
        for file in set(raw.glob("*")) - before:
            if file.is_file():
                file.unlink()
        why = one_line(error) if isinstance(error, Exception) else "its checksum is wrong"
        raise UserError(
            f"{option}: {name} cannot be fetched from {known.data[0]} ({why}): try again with a "
            f"network, first delete {raw} if it is there; or copy the folder ~/.sacrebleu of "
            "another machine and give data.test_sets_folder=FOLDER"
        ) from None


def digests_of(files: Sequence[Path], cache_dir: Path | None, option: str) -> list[bytes]:
    """Return the SHA-256 of the unpacked content of each file.

    ``cache_dir`` remembers the digests of files that have kept their size and time of change; None
    reads the files. Raises ``UserError``, which names ``option``, for a file that cannot be read.
    """
    if cache_dir is None:
        return [_digest(file, option) for file in files]
    kept = cache_dir / "digests.json"
    known, settled, found = _known(kept), {}, []
    for file in files:
        key = _key(file, option)
        if key not in known:
            known[key] = _digest(file, option).hex()
            if time.time_ns() - file.stat().st_mtime_ns > SETTLED:
                settled[key] = known[key]
        found.append(bytes.fromhex(known[key]))
    if settled:
        with suppress(OSError), locked(cache_dir / ".digests.lock"):
            write_json(kept, _known(kept) | settled)
    return found


def _known(kept: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        known = json.loads(kept.read_text(encoding="utf-8"))
        if isinstance(known, dict):
            return known
    return {}


def _key(file: Path, option: str) -> str:
    try:
        status = file.stat()
    except OSError as error:
        raise unreadable(file, error, option) from None
    return f"{file.resolve()} {status.st_size} {status.st_mtime_ns}"


def _digest(file: Path, option: str) -> bytes:
    digest = hashlib.sha256()
    for content in read_content(file, option):
        digest.update(content)
    return digest.digest()
