"""Files of other programs, recognized to be named in a refusal."""
