// Texts to begin with. The first is the paper's Figure 1, as in docs/examples/figure1.py.

const FIGURE_1 = `from typing import List


def has_close_elements(numbers: List[float], threshold: float) -> bool:
    """ Check if in given list of numbers, are any two numbers closer to each other than
    given threshold.
    >>> has_close_elements([1.0, 2.0, 3.0], 0.5)
    False
    >>> has_close_elements([1.0, 2.8, 3.0, 4.0, 5.0, 2.0], 0.3)
    True
    """
    for idx, elem in enumerate(numbers):
        for idx2, elem2 in enumerate(numbers):
            if idx != idx2:
<hole>                if distance < threshold:
                    return True

    return False
`;

const SUM = `def add(a, b):
    """Return the sum of a and b."""
    return <hole>


print(add(1, 2))
`;

const TWO = `def area(width, height):
    return <hole>


def perimeter(width, height):
    return <hole>


print(area(2, 3), perimeter(2, 3))
`;

const FILE = `import json


def load(path):
    with <hole> as file:
        return json.load(file)
`;

const LETTER = `Dear Anna,

thank you for your letter. <hole> I hope to see you soon.

Yours,
Tom
`;

const LIGHT = `The lighthouse keeper climbed the stairs every evening <hole> so that the ships could find their way home.
`;

export const EXAMPLES = [
  { name: "code: a sum", text: SUM },
  { name: "code: the paper’s Figure 1", text: FIGURE_1 },
  { name: "code: two holes", text: TWO },
  { name: "code: a file", text: FILE },
  { name: "prose: a letter", text: LETTER },
  { name: "prose: a lighthouse", text: LIGHT },
];
