"""The scoreboard of claims: table, page, figures, the same in Weights & Biases."""
