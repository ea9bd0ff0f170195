"""Uses of a verification: kept results, limits that it must keep, files for CI."""
