"""Files: output folders, archives of arrays, golden vectors, locks, caches, places."""
