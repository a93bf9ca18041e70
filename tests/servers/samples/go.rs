//! Go.

use super::{Sample, spot};

pub const GO: Sample = Sample {
    files: &[
        ("go.mod", "module shapes\n\ngo 1.19\n"),
        (
            "shapes.go",
            "package shapes

// Shape has a size.
type Shape interface {
\tSize() int
}

// Total adds up the sizes.
func Total(first Shape, second Shape) int {
\treturn first.Size() + second.Size()
}
",
        ),
        (
            "report.go",
            "package shapes

type Square struct {
\tside int
}

func (s *Square) Size() int {
\treturn s.side * s.side
}

func Report() int {
\tsquare := &Square{side: 2}
\treturn Total(square, square)
}
",
        ),
        (
            "wrong.go",
            "package shapes

func Wrong() (int, error) {
\treturn 1
}
",
        ),
        (
            "messy.go",
            "package shapes\n\nfunc  Messy( )  int {\nreturn   1\n}\n",
        ),
    ],
    shape: spot("shapes.go", "type Shape", "Shape"),
    implementation: spot("report.go", "type Square", "Square"),
    square: spot("report.go", "type Square", "Square"),
    value: spot("report.go", "square :=", "square"),
    callee: spot("shapes.go", "func Total(", "Total"),
    call: spot("report.go", "return Total(", "Total"),
    import: None,
    caller: spot("report.go", "func Report(", "Report"),
    wrong: (
        spot("wrong.go", "return 1", "1"),
        "not enough return values",
    ),
    messy: (
        "messy.go",
        "package shapes\n\nfunc Messy() int {\n\treturn 1\n}\n",
    ),
    declared: spot("shapes.go", "func Total(", "Total"),
    third_parameter: ("second Shape)", "second Shape, third Shape)"),
};
