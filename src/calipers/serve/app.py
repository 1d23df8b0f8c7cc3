"""The routes put together into one ASGI app.

A page or another family of routes is a router included here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from calipers import __version__
from calipers.errors import CalipersError
from calipers.serve import fill, fim, infill, misc, openai, page
from calipers.serve.guard import Guard, Rules
from calipers.serve.refusal import Refusal, invalid, refusal
from calipers.serve.service import Service

_ABOUT = "Fills holes with a masked diffusion language model, at lengths it measures first."


def create_app(service: Service, rules: Rules | None = None, cors: Sequence[str] = ()) -> ASGIApp:
    """The app; `cors` are the origins whose pages may use it, `*` for all."""
    app = describe(FastAPI(title="calipers", version=__version__, description=_ABOUT, redoc_url=None, docs_url=None))
    app.state.service = service
    app.state.since = int(time.time())
    rules = rules or Rules()
    guarded: ASGIApp = Guard(app, rules, service.metrics)
    if cors:
        # Outside the guard: a browser's question before the request carries no key.
        guarded = CORSMiddleware(
            guarded,
            allow_origins=list(cors),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    return guarded


def describe(app: FastAPI) -> FastAPI:
    """Add the routes and how they say no."""
    for family in (infill, openai, fim, fill, misc, page):
        app.include_router(family.router)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(CalipersError, _refused)
    app.add_exception_handler(Exception, _refused)
    app.openapi = _description(app)  # type: ignore[method-assign]
    return app


async def _refused(_: Request, error: Exception) -> JSONResponse:
    no = refusal(error)
    return JSONResponse(no.body, no.status, no.headers)


async def _http(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    kind, message = {
        404: ("not_found_error", "There is nothing here; /openapi.json says what there is."),
        405: ("invalid_request_error", "This method is not for this path; /openapi.json says which is."),
    }.get(error.status_code, ("invalid_request_error", str(error.detail)))
    no = Refusal(error.status_code, kind, message)
    return JSONResponse(no.body, no.status, dict(error.headers or {}))


async def _malformed(_: Request, error: Exception) -> JSONResponse:
    """What is wrong with a body, by name and without its value, which is the user's."""
    if not isinstance(error, RequestValidationError):
        raise error
    return await _refused(_, invalid("; ".join(dict.fromkeys(map(_wrong, error.errors()[:8])))))


def _wrong(one: dict[str, Any]) -> str:
    place = [str(part) for part in one["loc"] if part != "body"]
    if one["type"] == "json_invalid":
        return "The body is no JSON."
    if not place:
        return "The body must be a JSON object, sent with Content-Type: application/json."
    name = '"' + ".".join(place)[:100].encode("ascii", "backslashreplace").decode() + '"'
    if one["type"] == "missing":
        return f"{name} is required"
    if one["type"] == "extra_forbidden":
        return f"{name} is not known here; leave it out."
    return f"{name}: {one['msg']}"


def _description(app: FastAPI) -> Any:
    """The description, with keys; what the framework would answer with 422 is answered with 400 here."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        schema = plain()
        for path in schema["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            schema["components"]["schemas"].pop(name, None)
        schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"key": []}, {}]
        return schema

    return described
