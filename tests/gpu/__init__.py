"""What only a real GPU can show; skipped where there is none."""
