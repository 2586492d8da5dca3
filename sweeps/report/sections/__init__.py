"""The sections of a report, one object each: tables, figures, page, terminal, Weights & Biases."""

from sweeps.report.sections.section import Section
