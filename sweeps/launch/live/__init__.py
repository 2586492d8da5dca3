"""What a terminal shows while jobs run: a bar of one run, tables of jobs and trials."""
