"""Output folders and files that appear whole or not at all, with a manifest of their contents.

Output is written next to its final place and then renamed: a full disk, an interrupt or a kill
leaves the old state or the new one under the final name, never half of either. The next writer to
that place removes the files that a killed one left next to it.
"""

from rlx.support.files.outputs.file import new_file, write_file
from rlx.support.files.outputs.folder import check_folder, read_manifest, write_folder
from rlx.support.files.outputs.manifest import (
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
    "check_folder",
    "check_paths",
    "manifest_text",
    "new_file",
    "read_manifest",
    "write_file",
    "write_folder",
]
