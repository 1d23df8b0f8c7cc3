"""Write docs/cli.md from the program's own --help, or check that it is up to date.

python scripts/help.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from calipers.cli import cli

OUT = Path(__file__).parent.parent / "docs" / "cli.md"


def render() -> str:
    """The help of every command, as one page."""
    group = click.Context(cli, info_name="calipers", max_content_width=100, terminal_width=100)
    parts = [
        "# The command line\n",
        "Made from `--help` by `scripts/help.py`; do not edit.\n",
        f"## calipers\n\n```text\n{cli.get_help(group)}\n```\n",
    ]
    for name in cli.list_commands(group):
        command = cli.get_command(group, name)
        if command is not None:
            context = click.Context(command, info_name=name, parent=group, max_content_width=100, terminal_width=100)
            parts.append(f"## calipers {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write, or compare."""
    text = render()
    if "--check" not in sys.argv[1:]:
        OUT.write_text(text, "utf-8")
    elif OUT.read_text("utf-8") != text:
        sys.exit(f"{OUT} is out of date; run python scripts/help.py")


if __name__ == "__main__":
    main()
