"""Starting jobs: Hydra's callbacks and folders, GPUs, ranks, errors, the live table."""
