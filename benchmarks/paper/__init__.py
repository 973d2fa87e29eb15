"""The tables of the paper beside ours: `spoonful reproduce`."""
