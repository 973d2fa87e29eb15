"""Figures of what the refinement does to a model, and why: `report.analyze` draws them."""
