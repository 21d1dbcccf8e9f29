"""Whole registries of models: found through fsspec, read by ranges, checked on Ray or Spark. `compatcheck.scan` is the way in."""
