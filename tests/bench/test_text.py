"""Texts with words missing: every form they are distributed in, and the published order of draws."""

import csv
import gzip
import io
import json
import random
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.bench.text import LARGEST, PROTOCOLS, Protocol, Text, mask, read_texts
from calipers.errors import TargetError

SHARED = Path(__file__).parents[3] / "shared" / "data"
EVERY = Protocol()

words = st.text(string.ascii_letters + ".,'", min_size=1, max_size=4)
texts = st.lists(st.lists(words, min_size=1, max_size=20), max_size=12).map(
    lambda many: [Text(str(n), " ".join(some)) for n, some in enumerate(many)]
)


@given(texts, st.integers(0, 99))
def test_a_span_of_two_to_eight_words_is_missing_and_no_seam_has_a_blank(given_texts, seed):
    tasks = mask(given_texts, EVERY, seed)
    assert [task.id for task in tasks] == [text.id for text in given_texts]
    for task, text in zip(tasks, given_texts, strict=True):
        missing, whole = task.answer.split(), text.text.split()
        assert min(2, len(whole)) <= len(missing) <= 8
        assert [*task.prefix.split(), *missing, *task.suffix.split()] == whole
        for part in (task.prefix, task.answer, task.suffix):
            assert part == " ".join(part.split())


def test_any_run_of_blanks_is_one():
    (task,) = mask([Text("t", " a\tb\n\nc  d ")], EVERY)
    assert " ".join(filter(None, (task.prefix, task.answer, task.suffix))) == "a b c d"


def numbered(count, size):
    return [Text(f"t{n}", " ".join(f"w{n}.{k}" for k in range(size))) for n in range(count)]


def spans(tasks):
    """Where each task's span starts, and its length."""
    return [(len(task.prefix.split()), len(task.answer.split())) for task in tasks]


def test_length_then_start_are_drawn_from_one_generator_for_the_whole_set():
    many = [text for size in (40, 5, 2, 31) for text in numbered(3, size)]
    random.seed(42)
    drawn = []
    for text in many:
        size = len(text.text.split())
        length = random.randint(2, min(8, size))
        drawn.append((random.randint(0, size - length), length))
    assert spans(mask(many, EVERY)) == drawn


def test_a_text_too_short_draws_nothing():
    long, short = numbered(4, 30), numbered(1, 29)
    for name in ("abstracts", "reviews"):
        assert mask([long[0], *short, *long[1:]], PROTOCOLS[name]) == mask(long, PROTOCOLS[name])
        assert len(mask(long, PROTOCOLS[name])) == 4


def test_a_thousand_stories_are_drawn_before_any_span():
    stories = numbered(1500, 12)
    random.seed(42)
    chosen = random.sample(stories, 1000)
    length = random.randint(2, 8)
    first = (random.randint(0, 12 - length), length)
    tasks = mask(stories, PROTOCOLS["stories"])
    assert [task.id for task in tasks] == [story.id for story in chosen]
    assert spans(tasks)[0] == first
    assert [task.id for task in mask(stories[:999], PROTOCOLS["stories"])] == [s.id for s in stories[:999]]


def test_lengths_and_starts_are_uniform():
    found = spans(mask(numbered(7000, 9), EVERY))
    for length in range(2, 9):
        starts = [start for start, n in found if n == length]
        assert 850 < len(starts) < 1150  # 1000, standard deviation 29
        for start in range(9 - length + 1):
            expected = len(starts) / (10 - length)
            assert abs(starts.count(start) - expected) < 5 * expected**0.5


def test_another_seed_masks_other_words():
    many = numbered(20, 30)
    assert mask(many, EVERY, 42) != mask(many, EVERY, 43)


def table(rows, path, delimiter=","):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    path.write_bytes(b"\xef\xbb\xbf" + out.getvalue().encode())
    return path


ROC = [
    ["storyid", "storytitle", "sentence1", "sentence2", "sentence3", "sentence4", "sentence5"],
    ["9a", "The Test", 'He said "hm", once.', "Two.", "Three, yes.", "Four.", "Five."],
    ["8b", "Another", "A.", "B.", "C.", "D.", "É."],
]
_QUIZ = ("RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2")
CLOZE = [
    ["InputStoryid", *(f"InputSentence{n}" for n in range(1, 5)), *_QUIZ, "AnswerRightEnding"],
    ["x", "A.", "B.", "C.", "D.", "wrong", "right", "2"],
    ["y", "A.", "B.", "C.", "D.", "right", "wrong", "1"],
]
ABSTRACT = "0704.0001\n2007-04-01\n2008-01-01\ncs.CL math.ST\nA title\nOne; Two\nWe show it. It holds."


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_stories_are_read_from_both_of_their_tables(tmp_path, delimiter):
    roc = read_texts(table(ROC, tmp_path / "roc.csv", delimiter))
    assert roc == [Text("9a", 'He said "hm", once. Two. Three, yes. Four. Five.'), Text("8b", "A. B. C. D. É.")]
    cloze = read_texts(table(CLOZE, tmp_path / "cloze.csv", delimiter))
    assert cloze == [Text("x", "A. B. C. D. right"), Text("y", "A. B. C. D. right")]


def test_abstracts_are_read_with_the_last_one(tmp_path):
    path = tmp_path / "arxiv_cs_abstracts.txt"
    other = ABSTRACT.replace("0704.0001", "0704.0002").replace("It holds.", "Not.")
    for end in ("", "\n", "\n\n\n"):
        path.write_text(f"{ABSTRACT}\n\n\n{other}{end}")
        assert read_texts(path) == [Text("0704.0001", "We show it. It holds."), Text("0704.0002", "We show it. Not.")]


def test_reviews_are_read_from_yelp_s_lines_and_from_the_table_with_stars(tmp_path):
    lines = tmp_path / "yelp_academic_dataset_review.json"
    values = [{"review_id": "k", "stars": 5.0, "text": "Good.\nVery."}, {"review_id": "l", "text": "Bad."}]
    lines.write_text("".join(json.dumps(value) + "\n" for value in values))
    assert read_texts(lines) == [Text("k", "Good.\nVery."), Text("l", "Bad.")]
    stars = table([["5", 'So "good", here'], ["1", "Bad."]], tmp_path / "test.csv")
    assert read_texts(stars) == [Text("1", 'So "good", here'), Text("2", "Bad.")]


def test_json_lines_may_be_packed_and_without_ids(tmp_path):
    path = tmp_path / "texts.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a b"}\n\n{"text": "c d", "id": 7}\r\n{"text": "e", "id": "z"}'))
    assert read_texts(path) == [Text("1", "a b"), Text("7", "c d"), Text("z", "e")]


@pytest.mark.parametrize(
    "content", ["", "A plain text.\nOf two lines.", "[1]", "a,b,c\n1,2,3", "storyid,storytitle\n1,x"]
)
def test_an_unknown_form_is_answered_with_the_known_ones(tmp_path, content):
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(TargetError) as refused:
        read_texts(path)
    for part in (str(path), "ROCStories", "Story Cloze", "arxiv_cs_abstracts", "Yelp", "JSON lines"):
        assert part in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"text": "a b"}\n{"text": 3}', "line 2 has no text under 'text'"),
        ('{"text": "a b"}\n[1]', "JSON lines"),
        ('{"text": "a b"}\n{"text"', "JSON lines"),
        ('{"text": "a b"}\n{"text": " "}', "nothing in text '2'"),
        ('{"text": "a b", "id": 1}\n{"text": "c", "id": "1"}', "the id '1' twice"),
        (",".join(ROC[0]) + "\n1,t,a,b", "ROCStories CSV"),
        (",".join(CLOZE[0]) + "\nx,A,B,C,D,no,yes,0", "Story Cloze CSV"),
        ("5,good\n4", "yelp_review_full"),
        (ABSTRACT + "\n\n\nno more\nthan this", "chrisdonahue/ilm"),
    ],
)
def test_a_file_that_does_not_go_on_as_it_began_is_refused(tmp_path, content, said):
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(TargetError, match="file") as refused:
        read_texts(path)
    assert said in str(refused.value)


def test_a_file_too_large_for_memory_is_refused_unread(tmp_path):
    path = tmp_path / "reviews.json"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(TargetError, match="head -n"):
        read_texts(path)


@pytest.mark.parametrize(("name", "size"), [("stories", 1000), ("abstracts", 3000), ("reviews", 3000)])
def test_the_development_files_are_read(name, size):
    path = SHARED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    tasks = mask(read_texts(path), PROTOCOLS[name])
    assert len(tasks) == len({task.id for task in tasks}) == size
    mean = sum(len(task.answer.split()) for task in tasks) / size
    assert abs(mean - 5) < 5 * 2 / size**0.5  # uniform on 2 … 8: mean 5, standard deviation 2
