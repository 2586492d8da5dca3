"""Processes that train one model together: which there are, who starts them, who does what."""
