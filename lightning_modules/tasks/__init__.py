"""The tasks of one job: ``python run.py task=NAME``."""
