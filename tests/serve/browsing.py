"""A real Chromium, and pages in it that are held to make no noise and to speak to nobody but their server."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from serving import Running

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Two busy cores are slow; what waits, waits on a condition and goes on at once.
MILLISECONDS = 30_000
expect.set_options(timeout=MILLISECONDS)


@dataclass
class Visit:
    """A page of a server, and what it did.

    noise    what it logged as a warning or error, or threw
    asked    every request it made: (method, path)
    allowed  parts of noise that a test means to make: the browser logs every answer that is an error
    """

    page: Page
    url: str
    noise: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    sent: list[Any] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def listen(self) -> None:
        page = self.page
        page.on("console", lambda said: said.type in ("error", "warning") and self.noise.append(said.text))
        page.on("pageerror", lambda error: self.noise.append(str(error)))
        page.on("dialog", lambda dialog: (self.noise.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", self._request)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(self.url + "/"):
            self.strange.append(request.url)
        self.asked.append((request.method, request.url.removeprefix(self.url)))
        if request.method == "POST":
            self.sent.append(request.post_data_json)

    def quiet(self) -> None:
        """Nothing was said or asked that should not have been."""
        assert self.strange == []
        assert [one for one in self.noise if not any(part in one for part in self.allowed)] == []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)

    def the(self, name: str) -> Locator:
        """An element by its id."""
        return self.page.locator(f"#{name}")

    def ask(self, text: str, **settings: Any) -> None:
        """Fill a text, by keys, and wait for the end."""
        self.begin(text, **settings)
        expect(self.the("status")).to_contain_text("Filled")

    def begin(self, text: str, **settings: Any) -> None:
        """Fill a text, by keys."""
        self.set(**settings)
        self.the("text").fill(text)
        self.the("text").press("Control+Enter")

    def set(self, **settings: Any) -> None:
        """Settings of the method, in their fields."""
        if settings and not self.the("fields").is_visible():
            self.page.get_by_text("Model and method").click()
        for name, value in settings.items():
            field = self.the(f"set-{name}")
            if name in ("search", "empty", "trim_echo"):
                field.select_option(str(value).lower())
            else:
                field.fill(str(value))

    def shows(self, text: str, length: object = None) -> None:
        """The filled text is this, at this length."""
        expect(self.the("result")).to_have_class("result done")
        expect(self.the("result")).to_have_text(text)
        if length is not None:
            expect(self.the("exact")).to_have_value(str(length))


Browse = Callable[..., Visit]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser of this machine."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(names)} is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium: Browser) -> Iterator[Browse]:
    """Visit a server's page, each time as somebody new; in the end all have been quiet."""
    visits: list[Visit] = []

    def visit(server: Running, fragment: str = "", served: bool = True, **context: Any) -> Visit:
        context.setdefault("viewport", {"width": 1200, "height": 900})
        page = chromium.new_context(**context).new_page()
        page.set_default_timeout(MILLISECONDS)
        visits.append(one := Visit(page, server.url))
        one.listen()
        page.goto(f"{server.url}/{fragment}")
        if served:
            expect(one.the("model")).to_contain_text("bias")
        return one

    yield visit
    for one in visits:
        one.page.context.close()
    for one in visits:
        one.quiet()
