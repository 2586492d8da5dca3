"""Check a user's sections before the first job of a comparison, not after its last."""

from omegaconf import DictConfig

HARNESS = "sweeps.report.sections."


def check_sections(config: DictConfig) -> None:
    """Raise ``UserError`` for a section of the user that cannot be found or lacks a method."""
    for name, path in config.report.sections.items():
        if not str(path).startswith(HARNESS):
            # Slow imports, for which the jobs of other comparisons need not wait.
            from datamodules.plugs import find_plug
            from sweeps.report.sections import Section

            find_plug(f"report.sections.{name}", str(path), {}, Section)
