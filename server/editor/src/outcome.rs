//! How a run ended, in words: one line for its progress, a short message for the person, and the
//! whole in the log if it is longer than that.

use agent::Status;
use tower_lsp::lsp_types::MessageType;

use crate::connection::Connection;

/// The longest line that progress is ended with, in characters.
const LINE: usize = 160;
/// The longest message that is shown, in characters.
const SHOWN: usize = 600;
/// The longest answer that is shown: it may be all that a run was for, and an editor has no other place for it.
const ANSWER: usize = 6_000;

/// One line of outcome.
pub(crate) fn line(status: Status, message: &str) -> String {
    let first = message.lines().map(str::trim).find(|line| !line.is_empty());
    cut(&with_status(status, first.unwrap_or_default()), LINE)
}

/// Shows the outcome of a run that changed something: what it did can be seen.
pub(crate) fn show(connection: &Connection, status: Status, message: &str) {
    // The first paragraph says it; many editors have room for no more.
    let first = message.trim().split("\n\n").next().unwrap_or_default();
    tell(connection, status, message, &cut(first, SHOWN));
}

/// Shows the outcome of a run that changed nothing: the words are what was asked for.
pub(crate) fn answer(connection: &Connection, status: Status, message: &str) {
    tell(connection, status, message, &cut(message.trim(), ANSWER));
}

fn tell(connection: &Connection, status: Status, message: &str, shown: &str) {
    let kind = match status {
        Status::Failed => MessageType::ERROR,
        Status::Denied => MessageType::WARNING,
        Status::Running | Status::Done | Status::Cancelled => MessageType::INFO,
    };
    let message = message.trim();
    let is_cut = shown.len() < message.len();
    connection.show(kind, with_status(status, shown));
    if is_cut {
        connection.log(kind, with_status(status, message));
    }
}

fn with_status(status: Status, message: &str) -> String {
    let word = match status {
        Status::Running | Status::Done => "Done",
        Status::Failed => "Failed",
        Status::Cancelled => "Cancelled",
        Status::Denied => "Denied",
    };
    let speaks_for_itself = matches!(status, Status::Running | Status::Done);
    let says_it = message
        .get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word));
    match message {
        "" => word.to_owned(),
        message if speaks_for_itself || says_it => message.to_owned(),
        message => format!("{word}: {message}"),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let cases = [
            (Status::Done, "Fixed it.\n\nIn detail: …", "Fixed it."),
            (Status::Done, "\n  \nFixed it.", "Fixed it."),
            (Status::Done, "", "Done"),
            (Status::Failed, "no key", "Failed: no key"),
            (Status::Failed, "Failed to connect", "Failed to connect"),
            (Status::Cancelled, "", "Cancelled"),
            (Status::Cancelled, "cancelled", "cancelled"),
            (Status::Denied, "é", "Denied: é"),
        ];
        for (status, message, expected) in cases {
            assert_eq!(line(status, message), expected);
        }
        assert_eq!(
            line(Status::Done, &"é".repeat(200)).chars().count(),
            LINE + 1
        );
    }
}
