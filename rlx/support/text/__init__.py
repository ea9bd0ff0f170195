"""Text: names, numbers with units, tables, templates, HTML, licence, suggestions."""
