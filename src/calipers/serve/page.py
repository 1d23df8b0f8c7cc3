"""`GET /`: the playground, a page on which a gap is seen being measured and filled.

The page is what lies in `playground/`, as it is: no build step, nothing from elsewhere. What may
be asked for is a table made when the server starts, so no path leads anywhere else. The page needs
no key to be loaded (`guard`), and asks for one when a route that does need it says so.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

router = APIRouter(include_in_schema=False)
_HOME = Path(__file__).parent / "playground"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FILES = {
    file.name: (file.read_bytes(), f"{_TYPES[file.suffix]}; charset=utf-8")
    for file in sorted(_HOME.iterdir())
    if file.suffix in _TYPES
}
# What the page is: all that is served without a key.
PATHS = frozenset({"/", *(f"/playground/{name}" for name in _FILES)})
# Only what comes from here is loaded, run or spoken to, no text becomes markup, and no other page may frame this one.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A newer calipers at the same address has a newer page.
    "Cache-Control": "no-cache",
}


@router.get("/")
async def page() -> Response:
    """The playground."""
    return _file("playground.html")


@router.get("/playground/{name}")
async def part(name: str) -> Response:
    """What the page is made of."""
    return _file(name)


def _file(name: str) -> Response:
    if name not in _FILES:
        raise HTTPException(404)
    content, kind = _FILES[name]
    return Response(content, headers={**_HEADERS, "Content-Type": kind})
