//! C++.

use super::{Sample, spot};

pub const CPP: Sample = Sample {
    files: &[
        (
            "compile_commands.json",
            "[
  {\"directory\": \"ROOT\", \"file\": \"shapes.cpp\", \"arguments\": [\"c++\", \"-std=c++17\", \"-c\", \"shapes.cpp\"]},
  {\"directory\": \"ROOT\", \"file\": \"report.cpp\", \"arguments\": [\"c++\", \"-std=c++17\", \"-c\", \"report.cpp\"]},
  {\"directory\": \"ROOT\", \"file\": \"wrong.cpp\", \"arguments\": [\"c++\", \"-std=c++17\", \"-c\", \"wrong.cpp\"]},
  {\"directory\": \"ROOT\", \"file\": \"messy.cpp\", \"arguments\": [\"c++\", \"-std=c++17\", \"-c\", \"messy.cpp\"]}
]
",
        ),
        (
            "shapes.h",
            "#pragma once

/// What has a size.
class Shape {
public:
  virtual ~Shape() = default;
  virtual int size() const = 0;
};

/// Adds up the sizes.
int total(const Shape &first, const Shape &second);
",
        ),
        (
            "shapes.cpp",
            "#include \"shapes.h\"

int total(const Shape &first, const Shape &second) {
  return first.size() + second.size();
}
",
        ),
        (
            "square.h",
            "#pragma once
#include \"shapes.h\"

class Square : public Shape {
public:
  explicit Square(int side) : side(side) {}
  int size() const override { return side * side; }

private:
  int side;
};
",
        ),
        (
            "report.cpp",
            "#include \"shapes.h\"
#include \"square.h\"

int report() {
  Square square(2);
  return total(square, square);
}
",
        ),
        (
            "wrong.cpp",
            "#include \"square.h\"

int wrong(Square *square) { return square.size(); }
",
        ),
        ("messy.cpp", "int   messy( ){\nreturn   1;\n}\n"),
    ],
    shape: spot("shapes.h", "class Shape", "Shape"),
    implementation: spot("square.h", "class Square", "Square"),
    square: spot("square.h", "class Square", "Square"),
    value: spot("report.cpp", "Square square(2)", "square("),
    callee: spot("shapes.cpp", "int total(", "total"),
    call: spot("report.cpp", "return total(", "total"),
    import: Some(spot("shapes.h", "int total(", "total")),
    caller: spot("report.cpp", "int report(", "report"),
    wrong: (spot("wrong.cpp", "square.size()", ".size"), "is a pointer"),
    messy: ("messy.cpp", "int messy() { return 1; }\n"),
    declared: spot("shapes.h", "int total(", "total"),
    third_parameter: ("const Shape &second)", "const Shape &second, const Shape &third)"),
};
