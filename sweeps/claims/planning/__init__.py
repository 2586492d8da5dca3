"""What a command on claims would train: runs, their cost, the chance of a verdict."""
