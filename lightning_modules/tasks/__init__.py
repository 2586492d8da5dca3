"""What one job can do: ``python run.py task=NAME``."""
