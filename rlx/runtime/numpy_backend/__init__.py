"""The backend that is always available: NumPy, in one arena for each program."""

from rlx.runtime.numpy_backend.backend import BACKEND, NumpyBackend
from rlx.runtime.numpy_backend.program import NumpyProgram

__all__ = ["BACKEND", "NumpyBackend", "NumpyProgram"]
