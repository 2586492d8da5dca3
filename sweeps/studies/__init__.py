"""Equal tuning: Optuna's storage hands out trials, Hydra's launchers start the workers."""
