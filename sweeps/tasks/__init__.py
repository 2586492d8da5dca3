"""What a command can do with many runs: ``python run.py task=NAME``."""
