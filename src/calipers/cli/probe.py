"""`calipers probe`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from calipers.cli.options import (
    build_infiller,
    build_search,
    model_options,
    read_source,
    reading_options,
    search_options,
    text_options,
)
from calipers.errors import TemplateError
from calipers.provenance import invocation


@click.command("probe", short_help="Measure one hole and draw its landscape.")
@text_options
@search_options("exhaustive", 32)
@reading_options
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print the landscape as JSON. Default: off.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="Draw it into this PNG, SVG or PDF file too (needs calipers[plot]). Default: not drawn.",
)
def command(**values: Any) -> None:
    """Measure one hole: confidence Φ, bias B and Φ/B of each length, as table, drawing or JSON.

    TARGET names the text and its one hole as for `calipers fill`.
    """
    source = read_source(values)
    if source.template.holes != 1:
        raise TemplateError(
            f"The marker {values['marker']!r} is in the text {source.template.holes} times where 1 is meant; "
            "probe one hole at a time."
        )
    search = build_search(values)[0]
    if values["plot"]:
        from calipers.plot import check

        check(values["plot"])
    infiller = build_infiller(values, search)
    (landscape,) = infiller.probe(source.template)
    if values["plot"]:
        made = infiller.made_with()
        landscape.plot(values["plot"], f"{made['model']} · bias {made['bias']}")
    if values["as_json"]:
        made_with = {**infiller.made_with(), "command": invocation()}
        click.echo(json.dumps({**landscape.to_dict(), "made_with": made_with}, ensure_ascii=False, indent=2))
        return
    from calipers.cli.view import print_landscapes

    print_landscapes([landscape], infiller.model.card.name, infiller.bias.name)
