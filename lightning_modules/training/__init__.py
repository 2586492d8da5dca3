"""Training one variant: its module, its control, its checkpoints, its callbacks."""
