"""From a component with stream ports to the files of an output folder."""
