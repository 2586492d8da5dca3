"""The top of a report: what was asked, what was found, under which conditions."""
