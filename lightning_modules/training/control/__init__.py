"""Making trainings comparable: budgets, FLOPs, matched sizes, schedules."""
