"""Checks whole registries of models on Ray or Spark: fsspec finds the models and reads ranges of them. See `compatcheck.scan`."""
