"""Test sets by name: text files of the user, or those that sacreBLEU knows and downloads.

sacreBLEU's ``wmt14`` is the official test set of WMT 2014 (2,737 pairs between English and German,
as in Luong et al. 2015), ``wmt14/full`` the one released later (3,003 pairs, as in Vaswani et al.
2017); between English and French both have 3,003 pairs.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from datamodules.errors import UserError, one_line
from datamodules.sources.pair_source import TwoFiles, find_file
from datamodules.writing.places import what_is

OPTION = "data.test_sets"
_NEWSTEST = re.compile(r"newstest20([0-9]{2})")


def find_test_set(
    name: str, source: str, target: str, places: Iterable[Path], folder: Path | None
) -> TwoFiles:
    """Return the files of a test set; sacreBLEU downloads what is missing.

    Of several references, the first counts.

    Args:
        name: file name without the language, a name of sacreBLEU, or ``newstestYYYY``.
        source: code of the source language.
        target: code of the target language.
        places: folders that may hold the files ``NAME.{language}``.
        folder: folder of sacreBLEU's test sets, instead of ``$SACREBLEU`` or ``~/.sacrebleu``.

    Raises:
        UserError: for an unknown name, language pair or folder, or if the download fails.
    """
    if folder is not None and not folder.is_dir():
        raise UserError(f"{OPTION}_folder={folder}: {what_is(folder)}; give a folder or make it")
    for place in places:
        sides = [find_file(place, f"{name}.{language}") for language in (source, target)]
        if sides[0] is not None and sides[1] is not None:
            return TwoFiles(name, (sides[0], sides[1]))
    known = _dataset(name, f"{source}-{target}")
    if folder is not None:
        known = copy(known)
        # sacreBLEU has no argument for its folder, only a variable that it reads when imported.
        known._outdir = str(folder / known.name)
        known._rawdir = str(folder / known.name / "raw")
    with _fetching(name, known):
        first = known.get_source_file(f"{source}-{target}")
        second = known.get_reference_files(f"{source}-{target}")[0]
    return TwoFiles(name, (Path(first), Path(second)))


def _dataset(name: str, pair: str) -> Any:
    from sacrebleu.dataset import DATASETS  # a large table, which --help does not need

    newstest = _NEWSTEST.fullmatch(name)
    known = DATASETS.get(f"wmt{newstest[1]}" if newstest else name)
    if known is None:
        near = get_close_matches(name, DATASETS, 3, 0.5)
        hint = f"did you mean {', '.join(near)}?" if near else "sacrebleu --list lists the names"
        raise UserError(f"{OPTION}: no test set {name}, neither as files nor in sacreBLEU; {hint}")
    # The files of wmt15 from English to French, for example, are no newstest2015.
    pairs = {
        languages
        for languages, files in known.langpairs.items()
        if newstest is None or any(name in str(file) for file in files)
    }
    if pair not in pairs:
        raise UserError(
            f"{OPTION}: {name} is not there for {pair}; sacreBLEU has it for "
            f"{', '.join(sorted(pairs)) or 'no languages'}"
        )
    return known


@contextmanager
def _fetching(name: str, known: Any) -> Iterator[None]:
    """Turn errors of a download into one line; leave no broken download behind."""
    raw = Path(known._rawdir)
    before = set(raw.glob("*"))
    try:
        yield
    except (Exception, SystemExit) as error:  # sacreBLEU ends the process at a wrong checksum
        for file in set(raw.glob("*")) - before:
            if file.is_file():
                file.unlink()
        why = one_line(error) if isinstance(error, Exception) else "its checksum is wrong"
        raise UserError(
            f"{OPTION}: {name} cannot be fetched from {known.data[0]} ({why}): try again with a "
            f"network, first delete {raw} if it is there; or copy the folder ~/.sacrebleu of "
            "another machine and give data.test_sets_folder=FOLDER"
        ) from None
