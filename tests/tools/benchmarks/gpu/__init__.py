"""What a GPU makes of each variant: ``make benchmark-gpu`` measures and writes ``docs/gpu.md``."""
