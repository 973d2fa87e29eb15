"""Datasets, the paper's protocols, and the pairs made from them."""
