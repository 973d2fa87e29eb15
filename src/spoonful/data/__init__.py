"""From anyone's files to the paper's protocols."""
