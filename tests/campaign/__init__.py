"""A campaign against rlx: what nobody here chose, in numbers that a test suite has no time for.

Each part (``parts.py``) is a deterministic list of numbered cases: damaged files, random networks,
hostile names, kills. ``make campaign`` runs them all, goes on where it was interrupted, prints a
table and stores the counts in ``benchmarks/results/campaign.jsonl``. ``test_campaign.py`` runs
the first cases of each part with every test run.
"""
