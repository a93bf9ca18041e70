//! `hover`: what a thing is, in few words. The signature and the first paragraph; the rest is cut.

use super::{Call, Spot, Unanswered, trust};
use crate::{
    tool::{Output, ToolError},
    truncate,
};

/// How many lines of code are shown before the first prose.
const SIGNATURE: usize = 15;
/// How much prose is shown, in characters, if it has paragraphs that fit.
const PROSE: usize = 500;

pub async fn hover(call: &Call<'_>, spot: &Spot) -> Result<Output, Unanswered> {
    let cx = call.cx;
    let text = &spot.snapshot;
    let answer = cx.pool.hover(text, spot.at, &cx.cancel).await?;
    let trust = trust(&answer);
    let said = answer.value.filter(|text| !text.trim().is_empty());
    let Some(said) = said else {
        return Ok(Output::text(format!(
            "{} has nothing to say of {} ({trust})",
            answer.server,
            spot.described(cx)
        )));
    };
    if cx.pool.is_of_hidden(text, spot.at, &cx.cancel).await? {
        return Err(ToolError::Failed(format!(
            "{} is defined in a file that a .copydeskignore hides: nothing is told of it",
            spot.described(cx)
        ))
        .into());
    }
    let is_all = call.input.part() == Some("all");
    let (short, cut) = match is_all {
        true => (
            truncate::text(whole(&said), "goToDefinition shows where it stands").0,
            0,
        ),
        false => shortened(&said),
    };
    let place = match spot.by_name {
        true => format!("{} ", spot.name(cx)),
        false => String::new(),
    };
    let mut text = format!("{place}({trust}):\n{short}");
    if cut > 0 {
        text.push_str(&format!(
            "[{cut} more characters: `query` \"all\" shows them]\n"
        ));
    }
    Ok(Output {
        text,
        truncated: cut > 0,
        ..Output::default()
    })
}

enum Part {
    Code(String),
    Prose(String),
}

/// The Markdown without its fences and rules; and how many characters were cut.
fn shortened(markdown: &str) -> (String, usize) {
    let mut out = String::new();
    let (mut cut, mut prose, mut is_full) = (0, 0, false);
    for part in parts(markdown) {
        let (text, is_code) = match &part {
            Part::Code(text) => (text, true),
            Part::Prose(text) => (text, false),
        };
        let length = text.chars().count();
        if is_full {
            cut += length;
        } else if is_code && prose == 0 {
            for (number, line) in text.lines().enumerate() {
                if number < SIGNATURE {
                    out.push_str(line);
                    out.push('\n');
                } else {
                    cut += line.chars().count();
                }
            }
        } else if prose > 0 && (is_code || prose + length > PROSE) {
            // An example, or more than the first paragraphs.
            is_full = true;
            cut += length;
        } else {
            prose += length;
            let shown: String = text.chars().take(PROSE).collect();
            out.push_str(&shown);
            if length > PROSE {
                out.push('…');
                cut += length - PROSE;
                is_full = true;
            }
            out.push('\n');
        }
    }
    (out, cut)
}

/// All of it, without its fences and rules.
fn whole(markdown: &str) -> String {
    let texts = parts(markdown).into_iter().map(|part| match part {
        Part::Code(text) | Part::Prose(text) => text,
    });
    texts.collect::<Vec<String>>().join("\n\n")
}

fn parts(markdown: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut fence: Option<String> = None;
    let mut prose = String::new();
    let flush = |prose: &mut String, parts: &mut Vec<Part>| {
        let text = std::mem::take(prose);
        if !text.is_empty() {
            parts.push(Part::Prose(text));
        }
    };
    for line in markdown.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            if let Some(code) = fence.take() {
                let code = code.trim_end().to_owned();
                if !code.is_empty() {
                    parts.push(Part::Code(code));
                }
            } else {
                flush(&mut prose, &mut parts);
                fence = Some(String::new());
            }
        } else if let Some(code) = &mut fence {
            code.push_str(line);
            code.push('\n');
        } else if trimmed.is_empty() || matches!(trimmed, "---" | "***" | "___") {
            flush(&mut prose, &mut parts);
        } else {
            if is_layout(trimmed) {
                continue;
            }
            if !prose.is_empty() {
                prose.push('\n');
            }
            prose.push_str(&without_links(line.trim_end()));
        }
    }
    if let Some(code) = fence {
        parts.push(Part::Code(code.trim_end().to_owned()));
    }
    flush(&mut prose, &mut parts);
    parts
}

/// What rust-analyzer says of a type's place in memory, and of traits that everybody knows.
fn is_layout(line: &str) -> bool {
    (line.starts_with("size = ") && line.contains("align = "))
        || line.starts_with("Implements notable traits: ")
        || matches!(line, "needs Drop" | "no Drop")
}

/// `[text](address)` without the address: it leads to a page that nobody asks for.
fn without_links(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('[') {
        let link = rest[start..].find("](").and_then(|middle| {
            let text = &rest[start + 1..start + middle];
            let after = &rest[start + middle + 2..];
            let end = after.find(')')?;
            let is_link = !text.contains(['[', ']']) && !after[..end].contains(' ');
            is_link.then(|| (text, &after[end + 1..]))
        });
        if let Some((text, after)) = link {
            out.push_str(&rest[..start]);
            out.push_str(text);
            rest = after;
        } else {
            out.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markdown: &str, expected: &str, cut: usize) {
        assert_eq!(shortened(markdown), (expected.to_owned(), cut));
    }

    #[test]
    fn signature_and_first_paragraph() {
        check(
            "```rust\nsmall\n```\n\n```rust\npub fn total(sizes: &[u32]) -> u32\n```\n\n---\n\nAdds up.",
            "small\npub fn total(sizes: &[u32]) -> u32\nAdds up.\n",
            0,
        );
        check("plain text", "plain text\n", 0);
        check(
            "```py\ndef f()\n```\nFirst.\n\nSecond.\n\n```py\nf()\n```\nThird.",
            "def f()\nFirst.\nSecond.\n",
            9,
        );
        check("```\nnever closed", "never closed\n", 0);
        check(
            "size = 40 (0x28), align = 0x8, no Drop\n\nSee [`Text`](https://docs.rs/x/Text.html), [1] and f(a[0](b c)).",
            "See `Text`, [1] and f(a[0](b c)).\n",
            0,
        );
    }

    #[test]
    fn long_ones_are_cut() {
        let long = "x".repeat(PROSE + 7);
        let (text, cut) = shortened(&long);
        assert_eq!((text.chars().count(), cut), (PROSE + 2, 7));
        let (text, cut) = shortened(&format!("a\n\n{long}"));
        assert_eq!((text.as_str(), cut), ("a\n", PROSE + 7));
        let code = format!("```\n{}```", "line\n".repeat(SIGNATURE + 2));
        assert_eq!(shortened(&code).1, 8);
    }
}
