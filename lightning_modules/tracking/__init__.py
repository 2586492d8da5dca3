"""Tracking: what a run tells Weights & Biases, TensorBoard, a CSV file or any Lightning logger.

``tracked.py`` makes the logger that the configuration names, and closes it with the training.
``trackers/tracker.py`` says what a tracker can take, ``trackers/wandb_tracker.py`` gives it to W&B,
and ``trackers/lightning_tracker.py`` to any other logger. What a run logs, and from which file:

- metrics of updates and validations: ``training/module.py`` and ``training/callbacks/budget.py``,
  under the names of ``names.py``;
- the configuration: the hyperparameters of ``training/module.py``, and ``tracked.py``;
- a heat map at each validation: ``attention_maps.py``;
- test scores, BLEU by length, a heat map, a table of translations: ``results.py``;
- files, with what they were made from: ``trackers/wandb_artifacts.py``;
- the corpus: ``results.py`` with the test, and alone, in W&B, ``data_run.py``;
- a comparison, in W&B alone: ``comparison_run.py``, ``comparison_report.py``, ``report_blocks.py``.

W&B is online if the server answers at once, else offline, and never stops a training: ``mode.py``
chooses, ``start.py`` starts the run, ``failsafe_run.py`` is the run whose failures stop nothing.
W&B gets what the program logs (``console_log.py``) and the overrides of the command, without
passwords; it gets neither code nor the address of the repository.
``trackers/csv_logger.py`` goes on in the file of an interrupted training.

No other package imports ``wandb``.
"""
