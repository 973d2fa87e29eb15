"""The tables of the paper beside ours, and the search for the settings of classical methods."""
