"""Run all cases, store what came of them and write the page of the documentation."""

from onnx_backend.cases import summary
from onnx_backend.page import PAGE, update

if __name__ == "__main__":
    found = summary()
    update(found)
    print(f"{found.passing} of {found.total} cases pass; wrote {PAGE.name}")  # noqa: T201
