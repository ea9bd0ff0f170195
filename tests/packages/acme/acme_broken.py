"""Ops that need a package which is not there."""

import acme_missing_dependency  # noqa: F401
