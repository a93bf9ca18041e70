//! Servers that say nothing: one that let a question run out and has answered nothing since, or was waited for in full and
//! has never sent diagnostics, is not waited for in full again until it does. It only counts.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use tokio::time::Instant;

use super::{Phase, Server, diagnostics::PULL};
use crate::{
    answer::{QueryError, seconds},
    client::{self, Patience},
};

/// Of the time that an answer may take, a server that is known not to answer gets this part.
const PART_OF_THE_SILENT: u32 = 10;
/// After so many times that time it is tried in full again.
const FORGOTTEN: u32 = 2;
/// The same part of one that has never sent diagnostics.
const PART_OF_THE_SPEECHLESS: u32 = 15;
/// A server that has pushed nothing for so long is taken for one that has nothing to say.
const UNTIL_IT_IS_MUTE: Duration = Duration::from_secs(20);

/// Questions that nobody waited for any more, since the server last answered.
#[derive(Debug, Clone)]
struct RanOut {
    /// When the first was put.
    begun: Instant,
    /// When it was given up.
    ended: Instant,
    /// How many answers had come by then.
    answers: u64,
    /// What was asked.
    methods: BTreeSet<String>,
}

/// What ran out, if the server has answered nothing since.
#[derive(Debug, Default)]
pub(super) struct Silence(Mutex<Option<RanOut>>);

impl Server {
    /// No longer than one answer may take from now on.
    pub fn for_one(&self, patience: &Patience) -> Patience {
        patience.at_most(Instant::now() + self.limit)
    }

    /// How long it is waited for now: what is left of the call's time, and little if it is known not to answer. What it owes
    /// an answer to already it is not asked again until it answers something: some do all that they were ever asked, one
    /// after another.
    pub(super) async fn patience(
        &self,
        method: &str,
        patience: &Patience,
    ) -> Result<Patience, QueryError> {
        let patience = match client::until_answered(self.limit) {
            Some(until) => patience.at_most(until),
            None => patience.clone(),
        };
        let Some(ran_out) = self.has_run_out() else {
            return Ok(patience);
        };
        let soon = patience.at_most(Instant::now() + self.limit / PART_OF_THE_SILENT);
        if !ran_out.methods.contains(method) {
            return Ok(soon);
        }
        let answered = async {
            tokio::select! {
                () = self.client.answered_more(ran_out.answers) => {}
                () = self.dead() => {}
            }
        };
        let waited = soon.wait(answered).await;
        waited.map_err(|error| self.error(method, error))?;
        Ok(patience)
    }

    /// For how long it has answered nothing, if it has let a question run out meanwhile.
    pub(super) fn silent_for(&self) -> Option<Duration> {
        self.has_run_out().map(|ran_out| ran_out.begun.elapsed())
    }

    /// What ran out, if it has answered nothing since. What it tells of its progress is a sign that it works. After a while
    /// that is forgotten: some never answer what was taken back, and are well.
    fn has_run_out(&self) -> Option<RanOut> {
        let ran_out = self.ran_out.lock().clone();
        let ran_out = ran_out.filter(|one| {
            one.answers == self.client.answers() && one.ended.elapsed() < self.limit * FORGOTTEN
        })?;
        let heard = self.desk().heard;
        (heard.is_none_or(|heard| heard <= ran_out.ended)).then_some(ran_out)
    }

    /// The error of a question that was put then, with how long it was waited for. It may not have been sent in that time.
    pub(super) fn given_up(&self, error: QueryError, begun: Instant, is_sent: bool) -> QueryError {
        let QueryError::TimedOut { name, method, .. } = error else {
            return error;
        };
        let waited = begun.elapsed();
        let known = self.has_run_out();
        let silent = known.as_ref().map(|ran_out| ran_out.begun.elapsed());
        let mut ran_out = known.unwrap_or_else(|| RanOut {
            begun,
            ended: Instant::now(),
            answers: self.client.answers(),
            methods: BTreeSet::new(),
        });
        ran_out.methods.insert(method.clone());
        // Less, as what is left of a call's time, shows nothing.
        if is_sent && (silent.is_some() || waited >= self.limit * 9 / 10) {
            *self.ran_out.lock() = Some(ran_out);
        }
        QueryError::TimedOut {
            name,
            method,
            waited: Some(waited),
            silent,
        }
    }

    /// How long it is waited for to send diagnostics: little, if it was waited for in full and has never sent any.
    pub(super) fn patience_for_diagnostics(&self, patience: &Patience) -> Patience {
        match self.is_speechless() {
            true => patience.at_most(Instant::now() + self.limit / PART_OF_THE_SPEECHLESS),
            false => patience.clone(),
        }
    }

    /// It was waited for since then to send diagnostics.
    pub(super) fn said_nothing_since(&self, begun: Instant) {
        // Some ask with little patience, which shows nothing.
        if begun.elapsed() >= self.limit * 2 / 3 && self.is_silent_so_far() {
            self.speechless.store(true, Ordering::Release);
        }
    }

    /// Whether it has had the time to tell of problems, and told of none and can't be asked.
    pub fn is_mute(&self) -> bool {
        let introduced = self.introduced.get();
        introduced.is_some_and(|introduced| introduced.since.elapsed() > UNTIL_IT_IS_MUTE)
            && self.is_silent_so_far()
    }

    /// It can't be asked for diagnostics, and has never sent any.
    fn is_silent_so_far(&self) -> bool {
        !self.supports(PULL, None) && !self.store.has_been_pushed()
    }

    /// Whether it was waited for in full, and has not sent a single diagnostic yet.
    fn is_speechless(&self) -> bool {
        self.speechless.load(Ordering::Acquire) && self.is_silent_so_far()
    }

    /// Why it has not said anything of a document's newest text, as far as that is known.
    pub fn why_pending(&self) -> Option<String> {
        let name = &self.name;
        if self.phase() == Phase::Indexing {
            return Some(format!("{name} is still indexing"));
        }
        if let Some(silent) = self.silent_for() {
            return Some(format!(
                "{name} has answered nothing for {}",
                seconds(silent)
            ));
        }
        self.is_speechless().then(|| {
            let since = seconds(self.introduced_for());
            format!("{name} has not sent any diagnostics yet, of any file, in {since}")
        })
    }
}

impl Silence {
    fn lock(&self) -> MutexGuard<'_, Option<RanOut>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
