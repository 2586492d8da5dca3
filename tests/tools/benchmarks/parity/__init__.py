"""Whether three systems here translate as well as those of JoeyNMT, trained alike on Multi30k."""
