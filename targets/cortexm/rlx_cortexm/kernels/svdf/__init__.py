"""SVDF layers: filters over features, weighted over time."""
