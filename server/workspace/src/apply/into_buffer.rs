//! Edits of open buffers: handed to the editor, then judged by the texts that come back from it.
//!
//! Editors refuse, skip an edit and say that they applied it, tell it differently from how it was sent, mix it with what
//! the user types, and tell it before their answer or long after. So an answer only decides how long to wait; whether
//! the edit stands is asked of every new text, for every attempt that was sent (`judge`).

use std::time::Duration;

use tokio::{
    sync::mpsc::{UnboundedReceiver, error::TryRecvError},
    time::{Instant, sleep_until, timeout},
};

use super::{
    Applied, ApplyError, Edit, Errand, HostError, Snapshot,
    judge::{Attempt, Judged, appears_elsewhere, judge},
    onto_disk::blocking,
};
use crate::Reply;

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

/// Every text that the buffer has from now on; ends when it is closed.
pub(super) type Texts = UnboundedReceiver<Snapshot>;

/// What was sent so far, and what came back.
struct Attempts {
    newest: Snapshot,
    texts: Texts,
    sent: Vec<Attempt>,
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
            if let Some(outcome) = self.catch_up(&mut attempts).await {
                return outcome;
            }
            if let Some(reason) = self.buffers.out_of_step(&attempts.newest.uri) {
                return Err(ApplyError::OutOfStep {
                    uri: self.uri,
                    reason,
                });
            }
            self.refuse_if_cancelled()?;
            next = self.rebase(next, &attempts.newest).await?;
            if next.replacements().is_empty() {
                return Ok(Applied::nothing(attempts.newest));
            }
            attempts.sent.push(Attempt::of(next.clone()));
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
            // Somebody who types without a pause puts no end off.
            if Instant::now() >= deadline {
                return self.overdue(edit, answer, attempts).await;
            }
            tokio::select! {
                biased;
                text = attempts.texts.recv() => {
                    if let Some(outcome) = self.judge(text, attempts).await {
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
                () = sleep_until(deadline) => {}
                () = self.cancel.cancelled(), if matches!(answer, Some(Answer::Refused { .. })) => {
                    return Err(ApplyError::Cancelled);
                }
            }
        }
    }

    /// No text came in time in which the edit stands.
    async fn overdue(
        &self,
        edit: &Edit,
        answer: Option<Answer>,
        attempts: &mut Attempts,
    ) -> Result<Outcome, ApplyError> {
        if let Some(outcome) = self.catch_up(attempts).await {
            return outcome.map(Outcome::Stands);
        }
        let uri = self.uri.clone();
        if let Some(Answer::Refused { reason }) = answer {
            return Err(ApplyError::Refused { uri, reason });
        }
        let (looked_for, now) = (edit.clone(), attempts.newest.text.clone());
        if blocking(move || appears_elsewhere(&looked_for, &now)).await {
            return Err(self.misapplied(edit, &attempts.newest));
        }
        match answer {
            Some(_) => Ok(Outcome::Skipped),
            None => Err(ApplyError::NoAnswer { uri }),
        }
    }

    /// Takes in the texts that have come already.
    async fn catch_up(&self, attempts: &mut Attempts) -> Option<Result<Applied, ApplyError>> {
        let first = match attempts.texts.try_recv() {
            Ok(text) => Some(text),
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => None,
        };
        self.judge(first, attempts).await
    }

    /// What a new text (or the end of them), and those that have come after it, say of the attempts that were sent, if
    /// they say something.
    async fn judge(
        &self,
        first: Option<Snapshot>,
        attempts: &mut Attempts,
    ) -> Option<Result<Applied, ApplyError>> {
        let mut is_closed = first.is_none();
        let mut texts: Vec<Snapshot> = first.into_iter().collect();
        while !is_closed {
            match attempts.texts.try_recv() {
                Ok(text) => texts.push(text),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => is_closed = true,
            }
        }
        let before = attempts.newest.clone();
        if let Some(newest) = texts.last() {
            attempts.newest = newest.clone();
        }
        let (mut sent, buffers) = (std::mem::take(&mut attempts.sent), self.buffers.clone());
        let (judged, sent) = blocking(move || {
            let judged = judge(&mut sent, before, texts, &buffers);
            (judged, sent)
        })
        .await;
        attempts.sent = sent;
        match judged {
            Judged::Stands(applied) => Some(Ok(applied)),
            Judged::Misplaced { edit, after } => Some(Err(self.misapplied(&edit, &after))),
            Judged::Missing if is_closed => Some(Err(ApplyError::ClosedMeanwhile {
                uri: self.uri.clone(),
            })),
            Judged::Missing => None,
        }
    }

    fn misapplied(&self, edit: &Edit, newest: &Snapshot) -> ApplyError {
        ApplyError::Misapplied {
            uri: self.uri.clone(),
            meant: edit.result(),
            fresh: newest.clone(),
        }
    }
}
