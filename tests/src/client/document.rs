//! One buffer of the client: its text now, what the server was told of it, every version that the server may
//! name, and undo. It sends nothing itself.

use std::collections::VecDeque;
use std::ops;

use serde_json::{Value, json};

use super::text::{self, Encoding, Range};
use super::ways::{Sync, Ways};

/// Versions that the server may still name in an edit.
const REMEMBERED: usize = 300;

/// Where something is typed.
#[derive(Clone, Debug)]
pub enum Spot {
    /// At the very beginning.
    Start,
    /// At the very end.
    End,
    /// Before the only occurrence of this text.
    Before(String),
    /// After the only occurrence of this text.
    After(String),
    /// In place of the only occurrence of this text.
    Over(String),
    /// In place of this range.
    At(Range),
}

/// Before the only occurrence of `text`.
pub fn before(text: &str) -> Spot {
    Spot::Before(text.to_owned())
}

/// After the only occurrence of `text`.
pub fn after(text: &str) -> Spot {
    Spot::After(text.to_owned())
}

/// In place of the only occurrence of `text`.
pub fn over(text: &str) -> Spot {
    Spot::Over(text.to_owned())
}

/// A buffer.
#[derive(Debug)]
pub struct Document {
    /// As this client spells it.
    pub uri: String,
    /// The text that the user sees.
    pub text: String,
    /// The version that the user's text has.
    pub version: i64,
    encoding: Encoding,
    /// What the server was last told.
    sent: String,
    /// What was done since, each change in the text after the one before it.
    pending: Vec<(Range, String)>,
    versions: VecDeque<(i64, String)>,
    undo: Vec<String>,
}

impl Document {
    /// A buffer as `didOpen` gives it.
    pub fn new(uri: &str, text: &str, version: i64, encoding: Encoding) -> Self {
        Self {
            uri: uri.to_owned(),
            text: text.to_owned(),
            version,
            encoding,
            sent: text.to_owned(),
            pending: Vec::new(),
            versions: VecDeque::from([(version, text.to_owned())]),
            undo: Vec::new(),
        }
    }

    /// The text of a version that was sent.
    pub fn at_version(&self, version: i64) -> Option<&str> {
        self.versions
            .iter()
            .rev()
            .find(|(v, _)| *v == version)
            .map(|(_, text)| text.as_str())
    }

    /// The texts that the server was told, newest first.
    pub fn known(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().rev().map(|(_, text)| text.as_str())
    }

    /// The version that was last sent.
    pub fn sent_version(&self) -> i64 {
        self.versions
            .back()
            .map_or(self.version, |(version, _)| *version)
    }

    /// Whether the server has not been told everything.
    pub fn is_behind(&self) -> bool {
        self.version != self.sent_version()
    }

    /// The bytes of a spot.
    pub fn find(&self, spot: &Spot) -> ops::Range<usize> {
        let only = |needle: &str| {
            let mut found = self.text.match_indices(needle);
            let (at, _) = found
                .next()
                .unwrap_or_else(|| panic!("{needle:?} is not in {}:\n{}", self.uri, self.text));
            assert!(
                found.next().is_none(),
                "{needle:?} is in {} more than once",
                self.uri
            );
            at..at + needle.len()
        };
        match spot {
            Spot::Start => 0..0,
            Spot::End => self.text.len()..self.text.len(),
            Spot::Before(needle) => only(needle).start..only(needle).start,
            Spot::After(needle) => only(needle).end..only(needle).end,
            Spot::Over(needle) => only(needle),
            Spot::At(range) => text::bytes(&self.text, *range, self.encoding)
                .unwrap_or_else(|why| panic!("{}: {why}", self.uri)),
        }
    }

    /// The LSP range of a spot.
    pub fn range(&self, spot: &Spot) -> Range {
        text::range(&self.text, self.find(spot), self.encoding)
    }

    /// Replaces disjoint pieces (all in the text as it is), as one step of undo and of the version.
    pub fn change(&mut self, mut pieces: Vec<(ops::Range<usize>, String)>, ways: &Ways) {
        self.undo.push(self.text.clone());
        pieces.sort_by_key(|(range, _)| (range.start, range.end));
        for (range, new) in pieces.into_iter().rev() {
            let place = text::range(&self.text, range.clone(), self.encoding);
            self.text.replace_range(range, &new);
            self.pending.push((place, new));
        }
        self.version += ways.version_step;
    }

    /// Takes the last step back, itself a change. False if there is none.
    pub fn undo(&mut self, ways: &Ways) -> bool {
        let Some(earlier) = self.undo.pop() else {
            return false;
        };
        if let Some((range, new)) = text::difference(&self.text, &earlier) {
            let place = text::range(&self.text, range, self.encoding);
            self.pending.push((place, new));
        }
        self.text = earlier;
        self.version += ways.version_step;
        true
    }

    /// The `didChange` that tells the server what it has not been told; `None` if there is nothing.
    pub fn tell(&mut self, ways: &Ways, sync: Sync) -> Option<Value> {
        if !self.is_behind() {
            return None;
        }
        let pending = std::mem::take(&mut self.pending);
        let piece = |(range, new): (Range, String)| json!({"range": range, "text": new});
        let changes: Vec<Value> = match sync {
            Sync::Full => vec![json!({"text": self.text})],
            Sync::Incremental if ways.rediffs => text::difference(&self.sent, &self.text)
                .map(|(range, new)| piece((text::range(&self.sent, range, self.encoding), new)))
                .into_iter()
                .collect(),
            Sync::Incremental => pending.into_iter().map(piece).collect(),
        };
        self.sent.clone_from(&self.text);
        self.versions.push_back((self.version, self.text.clone()));
        if self.versions.len() > REMEMBERED {
            self.versions.pop_front();
        }
        Some(json!({
            "textDocument": {"uri": self.uri, "version": self.version},
            "contentChanges": changes,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::new("file:///a", text, 1, Encoding::Utf16)
    }

    /// The pieces of an incremental change, read as a server must: each in the text after the one before.
    fn replay(text: &str, change: &Value) -> String {
        let mut text = text.to_owned();
        for piece in change["contentChanges"].as_array().expect("changes") {
            let new = piece["text"].as_str().expect("text");
            match serde_json::from_value(piece["range"].clone()) {
                Ok(range) => {
                    let bytes = text::bytes(&text, range, Encoding::Utf16).expect("a place");
                    text.replace_range(bytes, new);
                }
                Err(_) => text = new.to_owned(),
            }
        }
        text
    }

    #[test]
    fn what_is_told_gives_the_text() {
        let start = "one\r\ntw\u{1f600}o\nthree";
        for ways in Ways::all() {
            let mut document = document(start);
            document.change(vec![(14..14, "X".into()), (0..3, "1".into())], &ways);
            document.change(
                vec![(0..0, "// ".into()), (0..0, "\u{1f600}".into())],
                &ways,
            );
            assert!(
                document.text.starts_with("// \u{1f600}1\r\n"),
                "{:?}",
                document.text
            );
            let told = document.tell(&ways, ways.sync).expect("something to tell");
            assert_eq!(replay(start, &told), document.text, "{}", ways.name);
            assert_eq!(document.tell(&ways, ways.sync), None);
            assert!(document.undo(&ways) && document.undo(&ways) && !document.undo(&ways));
            assert_eq!(document.text, start);
            let before = replay(start, &told);
            let told = document.tell(&ways, ways.sync).expect("something to tell");
            assert_eq!(replay(&before, &told), start, "{}", ways.name);
        }
    }

    #[test]
    fn a_rediffing_client_sends_one_change() {
        let mut document = document("AGENT x\n");
        document.change(vec![(0..0, "AGENT2 ".into())], &Ways::neovim());
        let told = document
            .tell(&Ways::neovim(), Sync::Incremental)
            .expect("something");
        let range = Range::new((0, 5), (0, 5));
        assert_eq!(
            told["contentChanges"],
            json!([{"range": range, "text": "2 AGENT"}])
        );
    }

    #[test]
    fn versions_are_remembered_as_sent() {
        let mut document = document("a");
        document.change(vec![(1..1, "b".into())], &Ways::vscode());
        assert_eq!(document.at_version(2), None);
        document.tell(&Ways::vscode(), Sync::Incremental);
        assert_eq!(
            (document.at_version(1), document.at_version(2)),
            (Some("a"), Some("ab"))
        );
    }

    #[test]
    #[should_panic(expected = "more than once")]
    fn a_spot_must_be_unique() {
        document("a a").find(&over("a"));
    }
}
