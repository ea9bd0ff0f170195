"""Output folders and files that appear whole or not at all, with a manifest of what they hold.

What is written lies beside its final place first and is then renamed: a full disk, an interrupt or
a kill leaves the old state or the new one under the final name, never half of either. What a
killed writer leaves beside it is removed by the next writer to that place.
"""

from rlx.outputs.file import new_file, write_file
from rlx.outputs.folder import read_manifest, write_folder
from rlx.outputs.manifest import (
    MANIFEST,
    SCHEMA,
    FileEntry,
    Manifest,
    Producer,
    check_paths,
    manifest_text,
)

__all__ = [
    "MANIFEST",
    "SCHEMA",
    "FileEntry",
    "Manifest",
    "Producer",
    "check_paths",
    "manifest_text",
    "new_file",
    "read_manifest",
    "write_file",
    "write_folder",
]
