"""Version of rlx: of the package, in emitted files, of its CMake package."""

__version__ = "0.1.0"
