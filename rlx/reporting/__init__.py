"""Reports on output folders: predicted beside measured, as a page, a table or data."""
