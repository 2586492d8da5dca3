"""Weights & Biases: online if the server answers at once, else offline; never stops a training.

What the W&B run of a training gets, and from which file:

- metrics of updates and validations: ``training/module.py`` and ``training/callbacks/budget.py``,
  under the names of ``names.py``;
- the configuration: the hyperparameters of ``training/module.py``, and ``tracked.py``;
- a heat map at each validation: ``attention_maps.py``;
- test scores, BLEU by length, a heat map, a table of translations, artifacts: ``results.py``;
- never the command line, console output, code or address of the repository: ``start.py``.

``mode.py`` chooses between online and offline. ``failsafe_run.py`` is the run whose failures stop
nothing, ``tracker.py`` is this run as Lightning's logger, and ``tracked.py`` is the context of a
training that starts and ends the run.
"""
