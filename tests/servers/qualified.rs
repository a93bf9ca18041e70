//! What real servers make of a member that is named with what it is in, beside others of its name; of overloads; and of
//! calls that macros are given.

use serde_json::{Value, json};

use crate::{
    desk::Desk,
    servers::{self, Real},
};

const MANIFEST: (&str, &str) = (
    "Cargo.toml",
    "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
);
const LIB: &str = "pub mod area;
pub mod plane;
pub mod round;
pub mod user;
";
const ROUND: &str = "use crate::plane::Shape;

pub struct Circle;

impl Shape for Circle {
    fn area(&self) -> u32 {
        3
    }
}
";
const PLANE: &str = "pub trait Shape {
    fn area(&self) -> u32;
}

pub struct Square;

impl Shape for Square {
    fn area(&self) -> u32 {
        1
    }
}

impl Shape for u32 {
    fn area(&self) -> u32 {
        *self
    }
}
";
const USER: &str = "use crate::area;
use crate::plane::{Shape, Square};
use crate::round::Circle;

pub fn all() -> u32 {
    area::of(1) + Circle.area() + Square.area()
}
";
const SCRIPT: [Real; 3] = [servers::TSLS, servers::VTSLS, servers::TSC];
const CONFIG: (&str, &str) = (
    "tsconfig.json",
    "{ \"compilerOptions\": { \"strict\": true, \"target\": \"es2022\", \"module\": \"esnext\", \"moduleResolution\": \"bundler\", \"types\": [] }, \"include\": [\"*.ts\"] }\n",
);

fn by_name(name: &str) -> Value {
    json!({ "symbol": name })
}

/// A place, or a beginning of the answer where it is no place.
async fn check(desk: &Desk, title: &str, file: &str, cases: &[(&str, &str)]) {
    for (symbol, expected) in cases {
        let said = desk.lsp("goToDefinition", file, by_name(symbol)).await;
        assert!(
            said.well && said.text.starts_with(expected),
            "{title} {file} {symbol}: {}",
            said.text
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rust_members_beside_a_module() {
    let files = [
        MANIFEST,
        ("src/lib.rs", LIB),
        (
            "src/area.rs",
            "pub fn of(side: u32) -> u32 {\n    side\n}\n",
        ),
        ("src/round.rs", ROUND),
        ("src/plane.rs", PLANE),
        ("src/user.rs", USER),
    ];
    let desk = Desk::new(servers::RUST_ANALYZER, &files);
    let circle = "src/round.rs:6:8 in impl Shape for Circle (ready)";
    let shape = "src/plane.rs:2:8 in Shape (ready)";
    let square = "src/plane.rs:8:8 in impl Shape for Square (ready)";
    let all = [
        ("Circle.area", circle),
        ("Circle::area", circle),
        ("Shape.area", shape),
        ("Square.area", square),
        ("crate::plane::Square::area()", square),
    ];
    // Where the module is declared, where the members are, where all are used, and where there is none.
    for file in [
        "src/lib.rs",
        "src/round.rs",
        "src/plane.rs",
        "src/user.rs",
        "src/area.rs",
    ] {
        check(&desk, "rust-analyzer", file, &all).await;
    }
    check(
        &desk,
        "rust-analyzer",
        "src/user.rs",
        &[("area.of", "src/area.rs:1:8")],
    )
    .await;
    let said = desk
        .lsp("documentSymbol", "src/plane.rs", by_name("Shape.area"))
        .await;
    assert_eq!(
        said.text,
        "src/plane.rs: 17 lines, 1 symbol, `Shape.area` only (ready)\n2 fn area(&self) -> u32"
    );
    let query = json!({ "query": "Circle::area" });
    let said = desk.lsp("workspaceSymbol", "src/lib.rs", query).await;
    assert_eq!(
        said.text,
        "1 symbol (ready):\nsrc/round.rs:6:8 function area in Circle"
    );
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn script_members_beside_a_namespace() {
    let shapes = "export interface Shape {
  area(): number;
}

export namespace area {
  export const unit = 1;
}

export class Circle implements Shape {
  area() {
    return 3;
  }
}

export class Square implements Shape {
  area() {
    return 1;
  }
}
";
    let user = "import { area, Circle, Square } from \"./shapes\";

export const all = new Circle().area() + new Square().area() + area.unit;
";
    for real in SCRIPT {
        let files = [
            CONFIG,
            ("shapes.ts", shapes),
            ("user.ts", user),
            ("other.ts", "export {};\n"),
        ];
        let desk = Desk::new(real, &files);
        desk.open("shapes.ts");
        let all = [
            ("Circle.area", "shapes.ts:10:3 in Circle (ready)"),
            ("Square.area", "shapes.ts:16:3 in Square (ready)"),
        ];
        for file in ["shapes.ts", "user.ts", "other.ts"] {
            check(&desk, real.title, file, &all).await;
        }
        let own = [("Shape.area", "shapes.ts:2:3 in Shape (ready)")];
        check(&desk, real.title, "shapes.ts", &own).await;
        desk.end().await;
    }
}

/// All of its signatures are found, and one of them is what is meant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_definition_of_overloads_is_the_one_with_a_body() {
    let pick = "export function pick(a: string): string;
export function pick(a: number): number;
export function pick(a: any): any {
  return a;
}

export declare function none(a: string): string;
export declare function none(a: number): number;
";
    let user = "import { none, pick } from \"./pick\";

export const one = pick(1);
export const both = [pick, none];
";
    for real in SCRIPT {
        let desk = Desk::new(real, &[CONFIG, ("pick.ts", pick), ("user.ts", user)]);
        let expected = "pick.ts:3:17 (ready)
export function pick(a: any): any {
  return a;
}
[`pick` is declared 3 times in pick.ts, lines 1, 2, 3: this is about line 3; `line` names another]";
        for (file, place) in [
            ("user.ts", by_name("pick")),
            ("pick.ts", by_name("pick")),
            ("user.ts", json!({ "line": 4, "character": 22 })),
        ] {
            let said = desk.lsp("goToDefinition", file, place.clone()).await;
            assert_eq!(said.text, expected, "{} {file} {place}", real.title);
        }
        // None has one: both are told.
        let place = json!({ "line": 4, "character": 28 });
        let said = desk.lsp("goToDefinition", "user.ts", place).await;
        assert!(
            said.text.starts_with("2 definitions (ready):"),
            "{}: {}",
            real.title,
            said.text
        );
        desk.end().await;
    }
}

/// rust-analyzer does not look into what macros are given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_in_macros_are_said_to_be_missing() {
    let text = "pub fn size(of: u32) -> u32 {
    of
}

pub fn checked(of: u32) -> u32 {
    assert!(size(of) > 1, \"too small\");
    println!(\"{}\", of);
    size(of)
}

pub fn plain(of: u32) -> u32 {
    println!(\"size({})\", of);
    size(of)
}

pub fn above(of: u32) -> u32 {
    checked(of)
}
";
    let desk = Desk::new(servers::RUST_ANALYZER, &[MANIFEST, ("src/lib.rs", text)]);
    let note = "\ncalls inside macros may be missing: assert! src/lib.rs:6";
    for (name, is_told) in [("checked", true), ("plain", false), ("above", true)] {
        let said = desk.lsp("outgoingCalls", "src/lib.rs", by_name(name)).await;
        assert!(
            said.well && said.names(("src/lib.rs", 1)),
            "{name}: {}",
            said.text
        );
        assert_eq!(said.text.ends_with(note), is_told, "{name}: {}", said.text);
        assert_eq!(
            said.text.contains("may be missing"),
            is_told,
            "{name}: {}",
            said.text
        );
    }
    // They are found from the other end.
    let said = desk
        .lsp("incomingCalls", "src/lib.rs", by_name("size"))
        .await;
    assert!(
        said.text.contains("checked src/lib.rs:5, calls in 6,8"),
        "{}",
        said.text
    );
    desk.end().await;
}
