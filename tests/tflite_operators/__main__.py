"""Write the page of the documentation."""

from tflite_operators.page import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")  # noqa: T201
