//! Python.

use super::{Sample, spot};

pub const PYTHON: Sample = Sample {
    files: &[
        (
            "pyproject.toml",
            "[project]\nname = \"shapes\"\nversion = \"0.1.0\"\n",
        ),
        (
            "shapes.py",
            "from abc import ABC, abstractmethod


class Shape(ABC):
    \"\"\"What has a size.\"\"\"

    @abstractmethod
    def size(self) -> int: ...


def total(first: Shape, second: Shape) -> int:
    \"\"\"Adds up the sizes.\"\"\"
    return first.size() + second.size()
",
        ),
        (
            "report.py",
            "from shapes import Shape, total


class Square(Shape):
    def __init__(self, side: int) -> None:
        self.side = side

    def size(self) -> int:
        return self.side * self.side


def report() -> int:
    square = Square(2)
    return total(square, square)
",
        ),
        (
            "wrong.py",
            "def wrong() -> int:\n    return \"not a number\"\n",
        ),
        ("messy.py", "def messy( ):\n  return   1\n"),
    ],
    shape: spot("shapes.py", "class Shape(", "Shape"),
    implementation: spot("report.py", "class Square(", "Square"),
    square: spot("report.py", "class Square(", "Square"),
    value: spot("report.py", "square = ", "square"),
    callee: spot("shapes.py", "def total(", "total"),
    call: spot("report.py", "return total(", "total"),
    import: Some(spot("report.py", "from shapes", "from")),
    caller: spot("report.py", "def report(", "report"),
    wrong: (
        spot("wrong.py", "\"not a number\"", "\"not a number\""),
        "int",
    ),
    messy: ("messy.py", "def messy():\n    return 1\n"),
    declared: spot("shapes.py", "def total(", "total"),
    third_parameter: ("second: Shape)", "second: Shape, third: Shape)"),
};
