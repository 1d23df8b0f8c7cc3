"""`calipers serve`."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import (
    build_infiller,
    build_search,
    check_decoder,
    filling_options,
)
from calipers.errors import MissingExtra, TargetError

if TYPE_CHECKING:
    from calipers.serve.guard import Rules
    from calipers.serve.service import Service

_KEY, _KEYS = "CALIPERS_API_KEY", "CALIPERS_API_KEYS"


@click.command("serve", short_help="Serve editors and the OpenAI client.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8012, show_default=True, help="Port; 0: any free one.")
@click.option(
    "--api-key",
    multiple=True,
    help=f"Key a request must bring, as Authorization: Bearer KEY; several may be given. {_KEY} in the environment "
    f"({_KEYS}, with commas) keeps it out of the list of processes. Default: none.",
)
@click.option(
    "--api-key-file",
    type=click.Path(path_type=Path),
    help="A file of such keys, one a line. Default: none.",
)
@click.option("--insecure-no-key", is_flag=True, help="Serve other machines without a key. Default: refused.")
@click.option(
    "--cors-origin", multiple=True, help="Origin whose pages may use the server, * for all. Default: only its own."
)
@click.option(
    "--host-name",
    multiple=True,
    help="Another name this machine's requests may call the server by, as behind a proxy. Default: those of the "
    "loopback; a server for other machines answers to any.",
)
@click.option("--queue", type=click.IntRange(1), default=64, show_default=True, help="Requests that may wait.")
@click.option("--at-once", type=click.IntRange(1), default=16, show_default=True, help="Requests under way at a time.")
@click.option(
    "--within-ms",
    type=click.IntRange(1),
    help="Budget of requests that name none, in milliseconds: then the best fill known is given. Many editors name "
    "none and give up by themselves. Default: as long as it takes.",
)
@click.option("--cache", type=click.IntRange(0), default=256, show_default=True, help="Answers remembered.")
@click.option(
    "--body-limit", type=click.IntRange(1), default=1 << 20, show_default=True, help="Bytes of a request at most."
)
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Seconds to finish what was accepted when the server is told to end.",
)
@click.option("--log-prompts", is_flag=True, help="Log what was asked, users' text included. Default: never.")
@filling_options
@click.option("-q", "--quiet", is_flag=True, help="No log of requests. Default: one line each, without their text.")
def command(**values: Any) -> None:
    """Serve fills over HTTP: llama.cpp's /infill, OpenAI's /v1/completions, and our own /v1/fill.

    llama.vim and llama.vscode look at port 8012 of this machine unless told otherwise, so they
    work as they are. Other machines are served only with a key. Ctrl-C ends it when what was
    accepted is done, a second one at once.
    """
    try:
        from calipers.serve.run import Server, listen
    except ImportError:
        raise MissingExtra("The server", "serve") from None
    from calipers.serve.app import create_app

    rules = _rules(values)
    service = _service(values)
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("calipers.serve").setLevel(logging.WARNING if values["quiet"] else logging.INFO)
    with listen(values["host"], values["port"]) as socket:
        server = Server(create_app(service, rules, values["cors_origin"]), service.engine, values["grace"])
        service.engine.ended = server.drain
        service.engine.start()
        _tell(values, socket.getsockname()[1])
        server.run(sockets=[socket])
    service.engine.close(0)
    if service.engine.failure is not None:
        raise service.engine.failure


def _rules(values: dict[str, Any]) -> Rules:
    """What is asked of a request; other machines are not to be served to by mistake."""
    from calipers.serve.guard import Rules, allowed_hosts, is_loopback

    keys = [*values["api_key"], os.environ.get(_KEY, ""), *os.environ.get(_KEYS, "").split(",")]
    if values["api_key_file"]:
        try:
            keys += values["api_key_file"].read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as why:
            raise TargetError(f"{values['api_key_file']} cannot be read ({why}); give a file of keys.") from None
        if not any(key.strip() for key in keys):
            raise click.UsageError(f"--api-key-file {values['api_key_file']} has no key in it; one a line.")
    keys = [key.strip() for key in keys if key.strip()]
    if not (is_loopback(values["host"]) or keys or values["insecure_no_key"]):
        raise click.UsageError(
            f"--host {values['host']} serves other machines, and no key is asked of them; "
            "give --api-key, or --insecure-no-key if that is meant."
        )
    return Rules(
        keys=tuple(keys),
        hosts=allowed_hosts(values["host"], values["host_name"]),
        body=values["body_limit"],
        log_prompts=values["log_prompts"],
    )


def _service(values: dict[str, Any]) -> Service:
    """What can be refused is refused here; the model is loaded by the engine, while the server says so."""
    from calipers.serve.engine import Engine
    from calipers.serve.service import Service

    (search,) = build_search(values)
    check_decoder(values)
    engine = Engine(lambda: build_infiller(values, search), queue=values["queue"], at_once=values["at_once"])
    within = values["within_ms"]
    return Service(engine, values["cache"], within / 1000 if within else None)


def _tell(values: dict[str, Any], port: int) -> None:
    host = f"[{values['host']}]" if ":" in values["host"] else values["host"]
    address = f"http://{host}:{port}"
    click.echo(f"calipers serves {values['model']} at {address} (Ctrl-C ends it)", err=True)
    click.echo(f"  playground     {address}/", err=True)
    click.echo(f"  llama.vim      let g:llama_config = {{'endpoint_fim': '{address}/infill'}}", err=True)
    click.echo(f'  llama.vscode   "llama-vscode.endpoint": "{address}"', err=True)
    click.echo(f'  openai         OpenAI(base_url="{address}/v1", api_key=…).completions.create(suffix=…)', err=True)
