"""Draw docs/playground.png: the playground with the paper's Figure 1 filled by the bundled model.

python scripts/playground_shot.py [--out FILE] [--dark] [--phone]

Needs the dev extra and a Chromium.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-c", "from calipers.cli import main; main()", "serve", "--port", "0", "--quiet"]
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# The screen's width and height in CSS pixels, and pixels in one.
WIDE, NARROW = (1240, 1290, 1.5), (360, 740, 2.0)


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server of its own."""
    run = subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True)
    try:
        for line in run.stderr or ():
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                yield found[0]
                return
        sys.exit("the server did not start")
    finally:
        run.kill()
        run.wait()


def fill(page: Page) -> None:
    """The paper's Figure 1, its neighbouring lengths, and one step before the end."""
    status = page.locator("#status")
    page.locator("#examples").select_option(label="code: the paper’s Figure 1")
    page.locator("#text").press("Control+Enter")
    expect(status).to_contain_text("Filled: length", timeout=300_000)
    filled = status.inner_text()
    page.get_by_role("button", name="Fill the neighbours").click()
    expect(status).to_contain_text("too.", timeout=300_000)
    print(filled)
    for _ in range(2):
        page.get_by_role("button", name="Step back").click()
    page.evaluate("scrollTo(0, 0); document.activeElement.blur(); document.querySelector('#text').scrollTop = 0")
    page.mouse.move(0, 0)


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "playground.png", help="the picture")
    parser.add_argument("--dark", action="store_true", help="in the dark")
    parser.add_argument("--phone", action="store_true", help="on a small screen, all of the page")
    options = parser.parse_args()
    width, height, scale = NARROW if options.phone else WIDE
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("no browser: install chromium")
    with serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_page(
            viewport={"width": width, "height": height},
            device_scale_factor=scale,
            color_scheme="dark" if options.dark else "light",
        )
        page.goto(address)
        fill(page)
        shot = page.screenshot(full_page=options.phone)
        browser.close()
    # A palette makes it a third of the size; this way of choosing it keeps flat colours within one step of 256.
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    picture = picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    picture.save(options.out, optimize=True)
    print(f"{options.out}: {options.out.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
