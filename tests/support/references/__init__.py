"""Other programs and definitions that results are held against."""
