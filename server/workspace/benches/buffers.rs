//! How fast a buffer follows its editor: the figure to hold is 30,000 changes a second in 5 MB, with a listener.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use workspace::{
    Buffers, ContentChange, DocumentUri, Edit, Encoding, Listener, Position, Range, Replacement,
    Snapshot,
};

const SIZE: usize = 5 * 1024 * 1024;

/// Does what a mirror does: looks at what came, and notes it.
#[derive(Default)]
struct Mirror(AtomicUsize);

impl Listener for Mirror {
    fn opened(&self, _: &Snapshot) {}

    fn changed(&self, before: &Snapshot, _: &Snapshot, replacements: &[Replacement]) {
        for replacement in replacements {
            let range = before.text.range(replacement.range, Encoding::Utf16);
            self.0.fetch_add(
                range.start.line as usize + replacement.text.len(),
                Ordering::Relaxed,
            );
        }
    }

    fn saved(&self, _: &Snapshot) {}

    fn closed(&self, _: &Snapshot) {}
}

fn large_text() -> String {
    let lines = [
        "fn main() {\n",
        "    let naïve = \"日本語 😀\";\n",
        "\tprintln!(\"{}\", 1 + 1);\r\n",
        "}\n",
        "\n",
    ];
    lines
        .iter()
        .cycle()
        .scan(0, |size, line| {
            *size += line.len();
            (*size <= SIZE).then_some(*line)
        })
        .collect()
}

fn opened(text: &str) -> (Arc<Buffers>, DocumentUri) {
    let buffers = Buffers::new();
    let uri = DocumentUri::parse("file:///large.rs").unwrap_or_else(|error| panic!("{error}"));
    buffers.open(uri.clone(), "rust", 0, text);
    (buffers, uri)
}

fn changes(criterion: &mut Criterion) {
    let text = large_text();
    let lines = text.lines().count() as u32;
    let mut group = criterion.benchmark_group("didChange in 5 MB");
    group.throughput(Throughput::Elements(1));
    for (name, encoding) in [
        ("utf-8", Encoding::Utf8),
        ("utf-16", Encoding::Utf16),
        ("utf-32", Encoding::Utf32),
    ] {
        let (buffers, uri) = opened(&text);
        buffers.listen(Arc::new(Mirror::default()));
        let mut version = 0_i32;
        // A typist at one place after the other: a letter comes, and goes again.
        group.bench_function(format!("one character, {name}"), |bencher| {
            bencher.iter(|| {
                version += 1;
                let line = (version.cast_unsigned() / 2).wrapping_mul(7919) % lines;
                let start = Position::new(line, 3);
                let (end, text) = if version % 2 == 1 {
                    (start, "x")
                } else {
                    (Position::new(line, 4), "")
                };
                let change = ContentChange {
                    range: Some(Range::new(start, end)),
                    text: text.to_owned(),
                };
                black_box(buffers.change(&uri, version, &[change], encoding)).is_ok()
            });
        });
    }
    group.finish();
}

fn edits(criterion: &mut Criterion) {
    let text = large_text();
    let (buffers, uri) = opened(&text);
    let Some(snapshot) = buffers.get(&uri) else {
        return;
    };
    let place = snapshot.text.line_start(snapshot.text.line_count() / 2);
    let replacement = Replacement {
        range: workspace::ByteRange {
            start: place,
            end: place,
        },
        text: "let x = 1;\n".to_owned(),
    };
    let Ok(edit) = Edit::new(snapshot.clone(), vec![replacement]) else {
        return;
    };
    let mut merged = edit.result();
    merged.replace(workspace::ByteRange::new(10, 10), "typed");
    let mut typed = snapshot.clone();
    typed
        .text
        .replace(workspace::ByteRange::new(10, 10), "typed");
    let mut group = criterion.benchmark_group("an edit of 5 MB");
    group.bench_function("rebased", |bencher| {
        bencher.iter(|| black_box(edit.rebase(&typed)).is_ok());
    });
    group.bench_function("found to stand", |bencher| {
        bencher.iter(|| black_box(edit.stands_in(&merged)));
    });
    group.finish();
}

criterion_group!(benches, changes, edits);
criterion_main!(benches);
