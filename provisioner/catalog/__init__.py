"""The compatibility catalogue: typed rows with their sources, and the questions one may ask of them."""
