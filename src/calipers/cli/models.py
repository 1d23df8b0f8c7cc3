"""`calipers models`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from calipers.errors import ModelError
from calipers.models.card import Card, cards, find_card


@click.command("models", short_help="List the known models.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON. Default: off.")
def command(name: str | None, as_json: bool) -> None:
    """List the models calipers has a card for, or show the whole card of NAME.

    Other checkpoints of the same families load by hub id or folder, without a card.
    """
    if name is None:
        chosen = list(cards().values())
    elif (card := find_card(name)) is not None:
        chosen = [card]
    else:
        raise ModelError(f"model {name!r} has no card; known: {', '.join(cards())}.")
    if as_json:
        click.echo(json.dumps([{**asdict(c), "files": where(c)} for c in chosen], ensure_ascii=False, indent=2))
    elif name is not None:
        for key, value in {**asdict(chosen[0]), "files": where(chosen[0])}.items():
            click.echo(f"{key:10} {value}")
    else:
        _table(chosen)


def where(card: Card) -> str:
    """Where a card's files are now."""
    from calipers.models.files import bundled, cached

    if card.file:
        return str(bundled(card))
    folder = cached(card.id, card.revision)
    return str(folder) if folder else "not downloaded"


def _table(chosen: list[Card]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        # Piped: one tab-separated line each, never wrapped.
        for card in chosen:
            click.echo("\t".join((card.name, card.id, card.family, card.licence, where(card))))
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("name", "id", "family", "licence", "files"):
        table.add_column(column, overflow="fold")
    for card in chosen:
        table.add_row(card.name, card.id, card.family, card.licence, where(card))
    console.print(table)
