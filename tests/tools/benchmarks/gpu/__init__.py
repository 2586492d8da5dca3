"""The harness on a GPU: ``make gpu-queue`` measures, and writes ``docs/findings/gpu.md``."""
