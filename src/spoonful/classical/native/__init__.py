"""Scripts for the helper process; each needs numpy and one compiled library.

They are loaded by their paths and import nothing of Spoonful, so that a helper starts in the time
that its library takes to load.
"""
