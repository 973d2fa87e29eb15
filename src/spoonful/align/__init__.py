"""Align any number of scans, of one object or place or of several."""
