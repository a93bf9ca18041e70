//! What the runs of this process have used of models, added up over all of them.

use std::sync::{Mutex, PoisonError};

use agent::Usage;
use serde_json::Value;

/// The sum.
#[derive(Default)]
pub(crate) struct Used(Mutex<Usage>);

impl Used {
    /// A run tells what it has used so far; `before` is what it told last.
    pub(crate) fn grow(&self, before: &mut Usage, now: Usage) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sum.input += now.input.saturating_sub(before.input);
        sum.output += now.output.saturating_sub(before.output);
        sum.cache_read += now.cache_read.saturating_sub(before.cache_read);
        sum.cache_write += now.cache_write.saturating_sub(before.cache_write);
        *before = now;
    }

    /// As `copydesk.status` gives it.
    pub(crate) fn json(&self) -> Value {
        agent::usage_json(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
