//! What the runs of this process have used of models, added up over all of them.

use std::sync::{Mutex, PoisonError};

use agent::Spent;
use serde_json::Value;

/// The sum.
#[derive(Default)]
pub(crate) struct Used(Mutex<Spent>);

impl Used {
    /// A run tells what it has used so far; `before` is what it told last.
    pub(crate) fn grow(&self, before: &mut Spent, now: Spent) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sum.grow(before, &now);
        *before = now;
    }

    /// As `copydesk.status` gives it.
    pub(crate) fn json(&self) -> Value {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .to_json()
    }
}
