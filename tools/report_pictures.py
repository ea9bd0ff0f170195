"""Makes the pictures of report pages in docs/images, in a browser without a window.

Run as ``.venv/bin/python tools/report_pictures.py``; it needs the models under RLX_SHARED, the
tools of ``rlx verify`` for both targets, and Chromium.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import rlx

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SHARED = Path(os.environ.get("RLX_SHARED", ROOT.parent / "shared"))
SIZE = {"width": 1280, "height": 1160}
MAX_PICTURE_BYTES = 250_000
"""Bytes of a picture."""


def main() -> int:
    """Emit, verify, report, and capture the pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        pages = {"report-kws": _keyword_spotting(work), "report-fpga": _digits(work)}
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            for name, text in pages.items():
                for scheme, suffix in (("light", ""), ("dark", "-dark")):
                    page = browser.new_page(viewport=SIZE, color_scheme=scheme)
                    page.set_content(text)
                    _store(page.screenshot(), IMAGES / f"{name}{suffix}.png")
            browser.close()
    return 0


def _keyword_spotting(work: Path) -> str:
    model = SHARED / "models" / "mlperf-tiny" / "kws_ref_model.tflite"
    rlx.emit(model, "cortexm", work / "kws", ram="24K", flash="64K")
    return rlx.report(work / "kws").to_html()


def _digits(work: Path) -> str:
    rlx.emit(ROOT / "examples" / "digits" / "digits.rlx", "fpga", work / "digits")
    found = rlx.verify(work / "digits", tools=["verilator"])
    kept = work / "verified.json"
    kept.write_text(json.dumps(found.as_json()), encoding="utf-8")
    return rlx.report(work / "digits", verified=kept).to_html()


def _store(content: bytes, path: Path) -> None:
    """Write a picture with optimized lossless compression, and print its size."""
    with Image.open(io.BytesIO(content)) as image:
        image.convert("RGB").save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {size:,} bytes")  # noqa: T201 - a tool's output
    if size > MAX_PICTURE_BYTES:
        sys.exit(f"{path} is larger than {MAX_PICTURE_BYTES:,} bytes")


if __name__ == "__main__":
    sys.exit(main())
