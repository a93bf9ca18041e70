//! Rust.

use super::{Sample, spot};

pub const RUST: Sample = Sample {
    files: &[
        (
            "Cargo.toml",
            "[package]\nname = \"shapes\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        ),
        (
            "src/lib.rs",
            "//! Shapes.\npub mod messy;\npub mod report;\npub mod shapes;\npub mod wrong;\n",
        ),
        (
            "src/shapes.rs",
            "/// What has a size.
pub trait Shape {
    fn size(&self) -> u32;
}

/// Adds up the sizes.
pub fn total(first: &dyn Shape, second: &dyn Shape) -> u32 {
    first.size() + second.size()
}
",
        ),
        (
            "src/report.rs",
            "use crate::shapes::{Shape, total};

pub struct Square {
    pub side: u32,
}

impl Shape for Square {
    fn size(&self) -> u32 {
        self.side * self.side
    }
}

pub fn report() -> u32 {
    let square = Square { side: 2 };
    total(&square, &square)
}
",
        ),
        (
            "src/wrong.rs",
            "pub fn wrong(number: u32) -> Option<u32> {\n    number / 2\n}\n",
        ),
        ("src/messy.rs", "pub  fn messy( )->u32{\n1\n}\n"),
    ],
    shape: spot("src/shapes.rs", "pub trait Shape", "Shape"),
    implementation: spot("src/report.rs", "impl Shape for", "Shape"),
    square: spot("src/report.rs", "pub struct Square", "Square"),
    value: spot("src/report.rs", "let square", "square"),
    callee: spot("src/shapes.rs", "pub fn total(", "total"),
    call: spot("src/report.rs", "    total(", "total"),
    import: Some(spot("src/report.rs", "use crate", "use")),
    caller: spot("src/report.rs", "pub fn report(", "report"),
    wrong: (
        spot("src/wrong.rs", "number / 2", "number"),
        "expected Option<u32>, found u32",
    ),
    messy: ("src/messy.rs", "pub fn messy() -> u32 {\n    1\n}\n"),
    declared: spot("src/shapes.rs", "pub fn total(", "total"),
    third_parameter: (
        "second: &dyn Shape)",
        "second: &dyn Shape, third: &dyn Shape)",
    ),
};
