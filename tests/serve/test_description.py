"""The OpenAPI description is complete and true, and nothing that fits it, or does not, is a 5xx."""

import json

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from calipers import HillClimb, Infiller, Scripted

ROUTES = {
    ("post", "/infill"),
    ("post", "/v1/completions"),
    ("post", "/v1/fim/completions"),
    ("get", "/v1/models"),
    ("post", "/v1/fill"),
    ("get", "/props"),
    ("get", "/health"),
    ("post", "/tokenize"),
    ("post", "/detokenize"),
    ("get", "/metrics"),
}


@pytest.fixture
def server(serve):
    """Quick, so that many requests are tried; it has room for any number of holes."""
    return serve(Infiller(Scripted(["hello"] * 16), search=HillClimb(4, 1, 1, 12)))


def test_every_route_is_described_with_its_errors(server):
    schema = server.get("/openapi.json").json()
    found = {(method, path) for path, methods in schema["paths"].items() for method in methods}
    assert found == ROUTES
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            assert {"400", "401", "403", "413", "503"} <= set(operation["responses"]), path
            assert "422" not in operation["responses"]
            assert operation["summary"]


def test_every_key_of_our_own_request_is_explained(server):
    schemas = server.get("/openapi.json").json()["components"]["schemas"]
    for name in ("FillRequest", "InfillRequest"):
        unexplained = [key for key, value in schemas[name]["properties"].items() if not value.get("description")]
        assert unexplained == []


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), sorted(ROUTES))
def test_nothing_that_is_made_up_by_the_description_is_a_5xx(server, method, path):
    """Schemathesis makes up bodies that fit the description and bodies that do not."""
    schema = schemathesis.openapi.from_url(server.url + "/openapi.json")
    operation = schema[path][method.upper()]
    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    tried = []

    modes = [schemathesis.GenerationMode.POSITIVE]
    if method == "post":  # nothing can be wrong with a request that takes nothing
        modes.append(schemathesis.GenerationMode.NEGATIVE)
    for mode in modes:

        @settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def attempt(case):
            response = case.call(base_url=server.url, timeout=30)
            tried.append(response.status_code)
            case.validate_response(response, checks=checks)

        attempt()
    if method == "post":
        assert {200, 400} <= set(tried)
    assert tried
    assert max(tried) < 500
    assert httpx.get(server.url + "/health").json() == {"status": "ok"}


def test_what_the_description_gives_as_an_answer_is_what_is_answered(server):
    schema = server.get("/openapi.json").json()["components"]["schemas"]
    answer = server.post("/infill", {"input_prefix": "a", "input_suffix": "b"}).json()
    assert set(answer) == set(schema["Infilled"]["properties"])
    filled = server.post("/v1/fill", {"text": "a<hole>b"}).json()
    assert set(schema["Filled"]["required"]) <= set(filled)
    assert json.dumps(filled)
