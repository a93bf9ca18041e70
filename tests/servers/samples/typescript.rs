//! TypeScript.

use super::{Sample, spot};

pub const TYPESCRIPT: Sample = Sample {
    files: &[
        (
            "package.json",
            "{ \"name\": \"shapes\", \"private\": true, \"type\": \"module\" }\n",
        ),
        (
            "tsconfig.json",
            "{ \"compilerOptions\": { \"strict\": true, \"target\": \"es2022\", \"module\": \"esnext\", \"moduleResolution\": \"bundler\", \"types\": [] }, \"include\": [\"*.ts\"] }\n",
        ),
        (
            "shapes.ts",
            "/** What has a size. */
export interface Shape {
  size(): number;
}

/** Adds up the sizes. */
export function total(first: Shape, second: Shape): number {
  return first.size() + second.size();
}
",
        ),
        (
            "report.ts",
            "import { type Shape, total } from \"./shapes\";

export class Square implements Shape {
  constructor(public side: number) {}

  size(): number {
    return this.side * this.side;
  }
}

export function report(): number {
  const square = new Square(2);
  return total(square, square);
}
",
        ),
        (
            "wrong.ts",
            "import { Square } from \"./report\";

export function wrong(): number {
  return new Square(1).siz();
}
",
        ),
        ("messy.ts", "export function messy( ){\nreturn   1;\n}\n"),
    ],
    shape: spot("shapes.ts", "interface Shape", "Shape"),
    implementation: spot("report.ts", "class Square", "Square"),
    square: spot("report.ts", "class Square", "Square"),
    value: spot("report.ts", "const square", "square"),
    callee: spot("shapes.ts", "function total(", "total"),
    call: spot("report.ts", "return total(", "total"),
    import: Some(spot("report.ts", "import {", "import")),
    caller: spot("report.ts", "function report(", "report"),
    wrong: (spot("wrong.ts", "siz()", "siz"), "Did you mean 'size'?"),
    messy: ("messy.ts", "export function messy() {\n    return 1;\n}\n"),
    declared: spot("shapes.ts", "function total(", "total"),
    third_parameter: ("second: Shape)", "second: Shape, third: Shape)"),
};
