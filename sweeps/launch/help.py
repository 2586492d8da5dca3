"""What ``--help`` prints: commands, groups with their choices, and settings outside groups."""

from itertools import groupby

from lightning_modules.runs.paths import CONF
from lightning_modules.runs.settings import settings

TEXT = CONF / "help.txt"


def help_text() -> str:
    """Return the page."""
    files = sorted(CONF.glob("*/*.yaml"))
    by_group = groupby(files, key=lambda file: file.parent.name)
    groups = [f"{group}: {', '.join(file.stem for file in of)}" for group, of in by_group]
    keys = [
        f"  {setting.key:<23} {setting.meaning}"
        for setting in settings().values()
        if "." not in setting.key and not setting.is_group and "train" in setting.tasks
    ]
    text = TEXT.read_text(encoding="utf-8")
    return text.format(groups="\n".join(groups), keys="\n".join(keys))
