"""Programs that rlx starts: isolated, within limits, ended with everything that they started.

- ``program``: runs one, to its end or a limit;
- ``pipes``: reads its output while it runs;
- ``group``: ends it with its children;
- ``watcher``: ends it if rlx itself is killed.
"""

from rlx.support.process.program import (
    ENVIRONMENT_KEPT,
    OUTPUT_LIMIT,
    Completed,
    failure,
    kept_environment,
    last_lines,
    run,
)

__all__ = [
    "ENVIRONMENT_KEPT",
    "OUTPUT_LIMIT",
    "Completed",
    "failure",
    "kept_environment",
    "last_lines",
    "run",
]
