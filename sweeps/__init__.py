"""Above single runs: comparisons, their figures and reports, read from run folders."""
