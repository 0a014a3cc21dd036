"""What the user asked for: the spec as types, and the reader that turns a YAML file into them."""
