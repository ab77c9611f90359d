"""How the server answers in JSON: every string that a model or a stranger sent can be told, every refusal is one line.

Starlette's own answers are UTF-8, which has no half of a surrogate pair, and FastAPI's own refusals repeat what was
sent: both turn a hostile string, or a NaN, into an error 500.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from storage.column_types import dump_json

_MOST_TOLD: Final = 3
"""Faults in one refusal; the rest is counted."""
_PARTS: Final = {"body", "query", "path", "header", "cookie"}

_shown = reprlib.Repr()
_shown.maxlevel, _shown.maxstring, _shown.maxother, _shown.maxlong = 2, 80, 80, 40


class Json(JSONResponse):
    """JSON in ASCII, without NaN: what UTF-8 cannot hold stays an escape."""

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return dump_json(content).encode("ascii")


class JsonRoute(APIRoute):
    """A route that answers with what its function returns, as `Json`.

    FastAPI would check the answer against the return type before, and stumble over half a surrogate pair there.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options |= {"response_model": None, "response_class": Json}
        super().__init__(path, endpoint, **options)


def add_to(app: FastAPI) -> None:
    """Let the app refuse requests in this form."""

    async def invalid(request: Request, error: Exception) -> Response:
        faults = error.errors() if isinstance(error, RequestValidationError) else []
        return Json({"detail": explain(faults)}, 422)

    async def refused(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise error
        if error.status_code in (204, 304):
            return Response(status_code=error.status_code, headers=error.headers)
        return Json({"detail": error.detail}, error.status_code, error.headers)

    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)


def explain(faults: Sequence[Mapping[str, Any]]) -> str:
    """Pydantic's faults as one line: each with its field, what is wanted, and what was given, in ASCII."""
    told = "; ".join(map(_fault, faults[:_MOST_TOLD]))
    left = len(faults) - _MOST_TOLD
    return told + (f"; and {left} more" if left > 0 else "")


def _fault(fault: Mapping[str, Any]) -> str:
    if fault["type"] == "json_invalid":
        return f"body: is no JSON: {_ascii(fault['ctx']['error'])} at character {fault['loc'][-1]}"
    location = [part for index, part in enumerate(fault["loc"]) if part != "[key]" and (index or part not in _PARTS)]
    where = ".".join(_ascii(part)[:60] for part in location) or str(fault["loc"][0])
    if fault["type"] == "missing":
        return f"{where}: is missing"
    wanted = fault["msg"][:1].lower() + fault["msg"][1:]
    if fault["type"] == "string_unicode":
        wanted = "holds half a surrogate pair, which is no character; send whole characters"
    return f"{where}: {_ascii(wanted)[:200]} (got {_ascii(_shown.repr(fault.get('input')))[:120]})"


def _ascii(value: Any) -> str:
    return str(value).encode("ascii", "backslashreplace").decode()
