//! Edits of open buffers: handed to the editor, then judged by the texts that come back from it.
//!
//! Editors refuse, skip an edit and say that they applied it, tell it differently from how it was sent, mix it with what
//! the user types, and tell it before their answer or long after. So an answer only decides how long to wait; whether
//! the edit stands is asked of every new text, for every attempt that was sent.

use std::time::Duration;

use tokio::{
    sync::mpsc::{UnboundedReceiver, error::TryRecvError},
    time::{Instant, sleep_until, timeout},
};

use super::{Applied, ApplyError, Edit, Errand, HostError, Snapshot};
use crate::{Encoding, Reply, Text};

/// How long the editor may take to answer: it may be asking its user, or be busy.
const ANSWER: Duration = Duration::from_secs(10);
/// How long after `applied` the text may take to come. Neovim merges it with typing for up to 150 ms.
const ECHO: Duration = Duration::from_secs(1);
/// How long after a refusal a change may take to come that explains it: the editor may have sent it already.
const EXPLANATION: Duration = Duration::from_millis(300);
/// How often an edit that is skipped is sent. Each time costs an [`ECHO`].
const SKIPS: usize = 3;
/// How often an edit that is refused is sent, as long as its user types.
const REFUSALS: usize = 8;
/// How many visible bytes a text must have for its appearance elsewhere to say something.
const TELLING: usize = 4;

/// Every text that the buffer has from now on; ends when it is closed.
pub(super) type Texts = UnboundedReceiver<Snapshot>;

/// What was sent so far, and what came back.
struct Attempts {
    newest: Snapshot,
    texts: Texts,
    sent: Vec<Edit>,
}

/// How one attempt ended.
enum Outcome {
    Stands(Applied),
    /// The editor said that it applied the edit, and did not.
    Skipped,
    /// The editor did not take it, and its text is newer than ours was.
    Outdated {
        reason: Option<String>,
    },
}

/// What the editor said, as far as it matters.
enum Answer {
    Applied,
    Refused { reason: Option<String> },
}

impl Errand {
    pub(super) async fn edit_buffer(
        self,
        edit: Edit,
        newest: Snapshot,
        texts: Texts,
    ) -> Result<Applied, ApplyError> {
        let mut attempts = Attempts {
            newest,
            texts,
            sent: Vec::new(),
        };
        let mut next = edit;
        let (mut skips, mut refusals) = (0, 0);
        loop {
            if let Some(outcome) = self.catch_up(&mut attempts) {
                return outcome;
            }
            if let Some(reason) = self.buffers.out_of_step(&attempts.newest.uri) {
                return Err(ApplyError::OutOfStep {
                    uri: self.uri,
                    reason,
                });
            }
            self.refuse_if_cancelled()?;
            next = self.rebase(&next, &attempts.newest)?;
            if next.replacements().is_empty() {
                return Ok(Applied::nothing(attempts.newest));
            }
            attempts.sent.push(next.clone());
            match self.send(&next, &mut attempts).await? {
                Outcome::Stands(applied) => return Ok(applied),
                Outcome::Skipped => {
                    skips += 1;
                    tracing::debug!(skips, "the editor skipped the edit");
                    if skips == SKIPS {
                        let attempts = attempts.sent.len();
                        return Err(ApplyError::NotApplied {
                            uri: self.uri,
                            attempts,
                        });
                    }
                }
                Outcome::Outdated { reason } => {
                    refusals += 1;
                    tracing::debug!(
                        refusals,
                        ?reason,
                        "the editor refused the edit of an older text"
                    );
                    if refusals == REFUSALS {
                        return Err(ApplyError::Refused {
                            uri: self.uri,
                            reason,
                        });
                    }
                }
            }
        }
    }

    /// Sends an edit, and waits for what comes of it or of an earlier attempt.
    async fn send(&self, edit: &Edit, attempts: &mut Attempts) -> Result<Outcome, ApplyError> {
        let mut answering = self.host.apply(edit, &self.label);
        let mut answer: Option<Answer> = None;
        let mut deadline = Instant::now() + ANSWER;
        loop {
            tokio::select! {
                biased;
                text = attempts.texts.recv() => {
                    if let Some(outcome) = self.judge(text, attempts) {
                        if answer.is_none() {
                            // What it says has no weight any more, but it must not be cut off in the middle.
                            let _ = timeout(ECHO, &mut answering).await;
                        }
                        return outcome.map(Outcome::Stands);
                    }
                    if let Some(Answer::Refused { reason }) = answer {
                        return Ok(Outcome::Outdated { reason });
                    }
                }
                reply = &mut answering, if answer.is_none() => {
                    let reason = match reply {
                        Ok(Reply::Applied) => {
                            answer = Some(Answer::Applied);
                            deadline = Instant::now() + ECHO;
                            continue;
                        }
                        Ok(Reply::Refused { reason }) => reason,
                        Err(HostError::Failed(reason)) => Some(reason),
                        Err(HostError::Unsupported) => {
                            return Err(ApplyError::Unsupported { uri: self.uri.clone() });
                        }
                        Err(HostError::Closed) => return Err(ApplyError::HostClosed),
                    };
                    if attempts.newest.revision != edit.snapshot().revision {
                        return Ok(Outcome::Outdated { reason });
                    }
                    answer = Some(Answer::Refused { reason });
                    deadline = Instant::now() + EXPLANATION;
                }
                () = sleep_until(deadline) => {
                    let uri = self.uri.clone();
                    return match answer {
                        Some(Answer::Refused { reason }) => Err(ApplyError::Refused { uri, reason }),
                        _ if appears_elsewhere(edit, &attempts.newest.text) => {
                            Err(self.misapplied(edit, &attempts.newest))
                        }
                        Some(Answer::Applied) => Ok(Outcome::Skipped),
                        None => Err(ApplyError::NoAnswer { uri }),
                    };
                }
                () = self.cancel.cancelled(), if matches!(answer, Some(Answer::Refused { .. })) => {
                    return Err(ApplyError::Cancelled);
                }
            }
        }
    }

    /// Takes in the texts that have come already.
    fn catch_up(&self, attempts: &mut Attempts) -> Option<Result<Applied, ApplyError>> {
        loop {
            let text = match attempts.texts.try_recv() {
                Ok(text) => Some(text),
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => None,
            };
            if let Some(outcome) = self.judge(text, attempts) {
                return Some(outcome);
            }
        }
    }

    /// What a new text, or the end of them, says of the attempts that were sent, if it says something.
    fn judge(
        &self,
        text: Option<Snapshot>,
        attempts: &mut Attempts,
    ) -> Option<Result<Applied, ApplyError>> {
        let Some(text) = text else {
            return Some(Err(ApplyError::ClosedMeanwhile {
                uri: self.uri.clone(),
            }));
        };
        let before = std::mem::replace(&mut attempts.newest, text);
        let newest = &attempts.newest;
        if let Some(edit) = attempts
            .sent
            .iter()
            .find(|edit| is_misplaced(edit, &before, &newest.text))
        {
            return Some(Err(self.misapplied(edit, newest)));
        }
        attempts
            .sent
            .iter()
            .rev()
            .find_map(|edit| Applied::book(edit, newest))
            .map(Ok)
    }

    fn misapplied(&self, edit: &Edit, newest: &Snapshot) -> ApplyError {
        ApplyError::Misapplied {
            uri: self.uri.clone(),
            meant: edit.result(),
            fresh: newest.clone(),
        }
    }
}

/// Whether a text became the next by the edit's very lines and columns, though it was not the text that they were for.
fn is_misplaced(edit: &Edit, before: &Snapshot, after: &Text) -> bool {
    edit.snapshot().text != before.text
        && edit.may_be_in(after)
        && is_literally_applied(edit, &before.text, after)
        && edit
            .rebase(before)
            .is_ok_and(|rebased| rebased.result() != *after)
}

fn is_literally_applied(edit: &Edit, before: &Text, after: &Text) -> bool {
    [Encoding::Utf16, Encoding::Utf8]
        .into_iter()
        .any(|encoding| {
            let mut text = before.clone();
            for replacement in edit.replacements().iter().rev() {
                let range = edit.snapshot().text.range(replacement.range, encoding);
                text.replace(before.byte_range(range, encoding), &replacement.text);
            }
            text == *after
        })
}

/// Whether some text of an edit that does not stand is there all the same, once more than before.
fn appears_elsewhere(edit: &Edit, now: &Text) -> bool {
    let visible = |text: &str| {
        text.bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .take(TELLING)
            .count()
    };
    let telling: Vec<&str> = edit
        .replacements()
        .iter()
        .map(|replacement| replacement.text.as_str())
        .filter(|text| visible(text) == TELLING)
        .collect();
    if telling.is_empty() {
        return false;
    }
    let (before, now) = (edit.snapshot().text.to_string(), now.to_string());
    telling
        .into_iter()
        .any(|text| now.matches(text).count() > before.matches(text).count())
}
