"""What a GPU makes of the harness: ``make gpu-queue`` measures, and writes ``docs/gpu.md``."""
