"""The folder of a run: files, readers and writers, and the identity of the run."""
