"""Reports of a comparison: files, page, terminal, Weights & Biases.

How to add a section to the report:

1. Make a ``Table`` in ``gather_findings`` of ``contents.py``. The table is then a file in
   ``tables/``, and a table in the W&B run of the comparison (``wandb_run.py``).
2. On the page, the table folds under "Words, n-grams and sentences", or under "Differences in other
   scores" if its name ends with ``_significance`` (``sections`` in ``html.py``). For another place,
   add the name to ``NAMED_TABLES`` in ``html.py`` and markup to ``templates/report.html.j2``.
3. A figure with the name of the table, from ``Findings.figures``, is a file in ``figures/`` and
   folds with the table. A table of ``NAMED_TABLES`` needs markup for its figure too.
4. Where wanted, print the table in ``terminal.py``. The W&B report (``wandb_report.py``) shows all
   figures and the tables of ``NAMED_TABLES``; other blocks go into ``build_report``.
"""
