"""Reports of a comparison: files, page, terminal, Weights & Biases.

To add a section, write a class derived from ``sweeps.report.sections.Section``, in one file.
Name the class in ``conf/report/default.yaml``, or give ``+report.sections.NAME=my_section.Mine``.
"""
