"""One table in four forms, and what each must not lose or break."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from calipers.bench.table import Cell, Table
from calipers.errors import ArgumentError

STARTS = ("L = 4", "L = 8", "L = 16", "L = 32", "Average")


def row(name, figure, steps):
    figures = (Cell(figure + n, low=figure + n - 3.0, high=figure + n + 3.4, beside=70.4 + n) for n in range(5))
    return (name, *(cell for f in figures for cell in (f, Cell(steps, beside=11.6) if steps else None)))


CODE = Table(
    "Table 2: code infilling",
    ("Model", *("Pass@1", "Stps.") * 5),
    ("Single-Line Infilling", row("DreamCoder-Base", 18.04, None), row("  + cal", 33.44, 12.345)),
    notes=("933 tasks.",),
    groups=(("", 1), *((start, 2) for start in STARTS)),
)
SMALL = Table("t", ("method", "score"), (("fixed", Cell(18.0, beside=22.7)), ("cal", Cell(33.4, best=True))))


def read_csv(table):
    return list(csv.DictReader(io.StringIO(table.csv())))


def pipe_rows(table):
    """The cells of every row of the Markdown, cut at pipes that are not escaped."""
    lines = [line for line in table.markdown().split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_a_table_of_five_pairs_of_columns_fits_a_terminal_of_100():
    lines = str(CODE.terminal()).split("\n")
    assert max(map(len, lines)) <= 100
    at = next(i for i, line in enumerate(lines) if line.startswith("  + cal"))
    assert lines[at].split()[2:] == ["33.4", "12.3", "34.4", "12.3", "35.4", "12.3", "36.4", "12.3", "37.4", "12.3"]
    assert lines[at + 1].split()[:3] == ["±3.2", "(11.6)", "±3.2"]
    assert lines[at + 2].split() == ["(70.4)", "(71.4)", "(72.4)", "(73.4)", "(74.4)"]
    assert "±: half the width of the 95 % bootstrap interval." in lines


def test_points_stand_under_points():
    lines = str(CODE.terminal()).split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("  + cal"))
    points = [[found.start() for found in re.finditer(r"\.", line)] for line in lines[at : at + 3]]
    assert {*points[1], *points[2]} <= {*points[0]}


def test_where_there_is_room_a_row_is_one_line():
    lines = str(CODE.terminal(width=400)).split("\n")
    assert [line for line in lines if "33.4 [30.4, 36.8] (70.4)" in line and "12.3 (11.6)" in line]
    assert "[low, high]: 95 % bootstrap interval." in lines


def test_a_narrower_terminal_never_loses_a_figure():
    wide, narrow = str(CODE.terminal(400)), str(CODE.terminal(20))
    for start in range(5):
        assert f"{33.44 + start:.1f}" in wide
        assert f"{33.44 + start:.1f}" in narrow


def test_groups_stand_centred_over_their_columns():
    lines = str(CODE.terminal()).split("\n")
    names, rules, columns = lines[1:4]
    for start in STARTS:
        first, last = names.index(start), names.index(start) + len(start)
        rule = next(r for r in re.finditer("─+", rules) if r.start() <= first < r.end())
        assert abs((first - rule.start()) - (rule.end() - last)) <= 1
        assert columns[rule.start() : rule.end()].split() == ["Pass@1", "Stps."]


def test_a_group_wider_than_its_columns_makes_room():
    table = Table("t", ("m", "a", "b"), (("x", 1, 2),), groups=(("", 1), ("a very long heading", 2)))
    lines = str(table.terminal()).split("\n")
    assert "a very long heading" in lines[1]
    assert len(lines[2].rstrip()) == len(lines[4])


def test_a_terminal_prints_it_as_it_is():
    console = Console(width=100, file=io.StringIO())
    console.print(CODE.terminal())
    assert console.file.getvalue().rstrip("\n") == str(CODE.terminal())


def test_the_best_is_bold_and_what_is_beside_is_legible_everywhere():
    assert "bold" in {str(span.style) for span in SMALL.terminal().spans}
    assert "| **33.4** |" in SMALL.markdown()
    assert r"\textbf{33.4}" in SMALL.latex()
    for text in (str(SMALL.terminal()), SMALL.markdown(), SMALL.latex()):
        assert "(22.7)" in text
        assert "In parentheses: the paper's figure." in text


def test_without_a_figure_beside_or_an_interval_nothing_is_said_of_them():
    plain = Table("t", ("a",), ((1.0,),))
    assert plain.legend() == ()
    assert "paper" not in plain.markdown() + plain.latex() + plain.csv()


def test_every_row_of_the_markdown_has_a_cell_for_each_column():
    rows = pipe_rows(CODE)
    assert {len(cells) for cells in rows} == {11}
    assert rows[0][:3] == ["Model", "L = 4 Pass@1", "L = 4 Stps."]
    assert rows[2] == ["**Single-Line Infilling**", *[""] * 10]
    assert rows[3][1:3] == ["18.0 [15.0, 21.4] (70.4)", "–"]
    assert rows[4][0] == "&emsp;+ cal"


@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=12), min_size=2, max_size=2))
def test_any_text_keeps_the_markdown_and_the_csv_whole(texts):
    table = Table("t", ("a", "b"), (tuple(texts),))
    assert {len(cells) for cells in pipe_rows(table)} == {2}
    assert [list(r.values()) for r in read_csv(table)] == [texts]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20))
def test_any_text_keeps_the_latex_whole(text):
    line = Table("t", ("a", "b"), ((text, "x"),)).latex().split("\n")[8]
    body = line.removesuffix(r" & x \\")
    assert body != line
    known = re.sub(
        r"\\text\w+\{\}|\\ldots\{\}|\$\\[a-zA-Z]+(\{L\})?\$|\$-\$|\\quad |\{\[\}|\{\*\}|\\[&%$#_{}]", "", body
    )
    assert not set(known) & set("\\&%$#_{}^~[*")


def test_the_characters_latex_minds_are_escaped_one_by_one():
    line = Table("t", ("a",), ((r"50% of $x_1 & \n {y}~^#",),)).latex().split("\n")[8]
    assert line == r"50\% of \$x\_1 \& \textbackslash{}n \{y\}\textasciitilde{}\textasciicircum{}\# \\"


def test_a_row_that_begins_with_a_bracket_is_no_argument_of_the_line_before():
    lines = Table("t", ("a",), (("x",), ("[y]",), ("*z",))).latex().split("\n")
    assert lines[9].startswith("{[}y]")
    assert lines[10].startswith("{*}z")


def test_the_latex_is_booktabs_with_spans_that_add_up():
    latex = CODE.latex()
    begun, ended = re.findall(r"\\begin\{(\w+\*?)\}", latex), re.findall(r"\\end\{(\w+\*?)\}", latex)
    assert begun == ended[::-1] == ["table*", "tabular"]
    assert re.search(r"\\begin\{tabular\}\{(\w+)\}", latex)[1] == "l" + "r" * 10
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in latex
    for line in latex.split("\n"):
        assert line.count("{") - line.count(r"\{") == line.count("}") - line.count(r"\}")
        if line.endswith(r"\\"):
            spans = [int(n) for n in re.findall(r"\\multicolumn\{(\d+)\}", line)]
            assert line.count(" & ") + 1 + sum(spans) - len(spans) == 11
    rules = [line for line in latex.split("\n") if line.startswith((r"\top", r"\mid", r"\bot"))]
    assert rules == [r"\toprule", r"\midrule", r"\midrule", r"\bottomrule"]
    assert r"\multicolumn{11}{c}{Single-Line Infilling}" in latex


def test_a_negative_number_has_a_minus_and_a_word_its_hyphen():
    latex = Table("t", ("a", "b"), (("Multi-Line", -1.5),)).latex()
    assert r"Multi-Line & $-$1.5 \\" in latex


def test_the_csv_holds_every_number_as_it_is():
    first, second = read_csv(CODE)
    assert first["section"] == "Single-Line Infilling"
    assert [first[f"L = 4 {name}"] for name in ("Pass@1", "Pass@1 low", "Pass@1 beside", "Stps.", "Stps. beside")] == [
        *("18.04", "15.04", "70.4"),
        *("", ""),
    ]
    assert float(second["L = 4 Stps."]) == 12.345
    assert list(read_csv(SMALL)[0]) == ["method", "score", "score beside"]


def test_whole_numbers_stay_whole_and_nothing_is_a_dash():
    table = Table("t", ("a", "b", "c"), ((3, 0.0, None),))
    assert pipe_rows(table)[2] == ["3", "0.0", "–"]
    assert r"3 & 0.0 & -- \\" in table.latex()
    assert read_csv(table) == [{"a": "3", "b": "0.0", "c": ""}]


@pytest.mark.parametrize(
    ("make", "says", "remedy"),
    [
        (lambda: Table("t", ("a", "b"), ((1,),)), "Row 1 of table 't' has 1 cells for 2 columns", "None where"),
        (lambda: Table("t", ("a", "b"), (), groups=(("x", 1),)), "span 1 of 2 columns", "make up all"),
        (lambda: Table("t", ("a",), ((float("nan"),),)), "value=nan", "give None"),
        (lambda: Cell(1.0, low=0.5), "low=0.5, high=None", "both"),
        (lambda: Cell(1.0, beside=float("inf")), "beside=inf", "give None"),
    ],
)
def test_misuse_is_refused_by_name_value_and_remedy(make, says, remedy):
    with pytest.raises(ArgumentError) as refused:
        make()
    assert says in str(refused.value)
    assert remedy in str(refused.value)
