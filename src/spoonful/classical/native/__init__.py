"""What runs in the helper process: plain scripts that know numpy and one compiled library each.

They are loaded by their paths and import nothing of Spoonful, so that a helper starts in the time
that its library takes to load.
"""
