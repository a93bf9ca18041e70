//! What passed between the client and the server: kept for waits and for a failed test's report, and written as JSON
//! lines (`{"dir": "s->c", ...the message}`) into the folder that `COPYDESK_TEST_LSP_LOGS` names, where the
//! conformance checker reads them. It never judges.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

/// The folder of the logs.
pub const FOLDER: &str = "COPYDESK_TEST_LSP_LOGS";

/// How much of one message, and how many messages, a report shows.
const SHOWN_BYTES: usize = 600;
const SHOWN_MESSAGES: usize = 60;

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The editor.
    Client,
    /// copydesk.
    Server,
}

/// All messages so far.
#[derive(Debug, Default)]
pub struct Log {
    entries: Vec<(From, Value)>,
    file: Option<File>,
}

impl Log {
    /// An empty log that is written to the folder of the logs, if there is one; `name` goes into the file's name.
    pub fn kept(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let file = std::env::var_os(FOLDER).map(PathBuf::from).map(|folder| {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or("main").replace("::", "-");
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(
                "{test}-{name}-{}-{count}.jsonl",
                std::process::id()
            ));
            std::fs::create_dir_all(&folder).expect("the folder for LSP logs");
            File::create(&path).expect("a file for the LSP log")
        });
        Self {
            entries: Vec::new(),
            file,
        }
    }

    /// Books a message.
    pub fn push(&mut self, from: From, message: Value) {
        if let Some(file) = &mut self.file {
            let mut line = message.clone();
            line["dir"] = json!(match from {
                From::Client => "c->s",
                From::Server => "s->c",
            });
            writeln!(file, "{line}").expect("writing the LSP log");
        }
        self.entries.push((from, message));
    }

    /// What the server sent, in order.
    pub fn received(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.entries
            .iter()
            .filter(|(from, _)| *from == From::Server)
            .map(|(_, message)| message)
    }

    /// What the client sent, in order.
    pub fn sent(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.entries
            .iter()
            .filter(|(from, _)| *from == From::Client)
            .map(|(_, message)| message)
    }

    /// The last messages, for a person.
    pub fn report(&self) -> String {
        let skipped = self.entries.len().saturating_sub(SHOWN_MESSAGES);
        let mut text = format!("the last messages ({skipped} before them):\n");
        for (from, message) in &self.entries[skipped..] {
            let arrow = if *from == From::Client { "-->" } else { "<--" };
            let mut line = message.to_string();
            if line.len() > SHOWN_BYTES {
                let mut end = SHOWN_BYTES;
                while !line.is_char_boundary(end) {
                    end -= 1;
                }
                line.truncate(end);
                line.push('…');
            }
            writeln!(text, "  {arrow} {line}").expect("a String takes all");
        }
        text
    }
}
