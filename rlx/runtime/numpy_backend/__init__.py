"""The backend that is always available: NumPy, in one arena for each program."""

from rlx.runtime.numpy_backend.backend import BACKEND, NumpyBackend
from rlx.runtime.numpy_backend.program import NumpyProgram
from rlx.runtime.numpy_backend.step import BoundStep
from rlx.runtime.numpy_backend.workspace import Workspace

__all__ = ["BACKEND", "BoundStep", "NumpyBackend", "NumpyProgram", "Workspace"]
