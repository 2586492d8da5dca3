"""The table of settings, and the check of a configuration against the table."""
