//! What language servers had not finished when the model was told of its changes. They are looked at again while the model
//! thinks, and what has become known is told once: with the first result of the next step, or before the run ends. Nobody
//! waits long for it.

use std::time::Duration;

use tokio::{
    runtime::Handle,
    task::{JoinHandle, spawn_blocking},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::DropGuard;
use tools::{
    Context,
    aftermath::{self, Aftermath, Unfinished},
};

use super::Run;
use crate::event::EventKind;

/// How long a look may take, the first time and at most. While the texts as they were are looked at, others wait for their
/// answers: a project that is still being read is waited for in several short looks, and not in a long one.
const FIRST: Duration = aftermath::DEADLINE;
const LONGEST: Duration = Duration::from_secs(10);
/// What ends at once, as with a server that is down, is not looked at over and over.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a step waits for it. The model has thought meanwhile: what is not known by then takes longer.
pub(super) const BETWEEN: Duration = Duration::from_millis(300);
/// How long a look that is called off may take to say what it knows.
const WIND_UP: Duration = Duration::from_millis(200);

/// What was not finished.
pub(super) struct Open {
    unfinished: Unfinished,
    looking: Option<Looking>,
}

/// A look that is under way. Dropped, it ends by itself.
struct Looking {
    task: JoinHandle<Aftermath>,
    ends: DropGuard,
}

impl Open {
    pub fn new(unfinished: Unfinished) -> Self {
        Open {
            unfinished,
            looking: None,
        }
    }

    pub fn unfinished(&self) -> &Unfinished {
        &self.unfinished
    }
}

/// Looks until something has become known, or it is called off.
async fn look(mut unfinished: Unfinished, cx: Context) -> Aftermath {
    let mut patience = FIRST;
    loop {
        let pause = Instant::now() + PAUSE;
        let known = aftermath::later(&unfinished, patience, &cx).await;
        let Aftermath {
            text: None,
            unfinished: Some(open),
            ..
        } = known
        else {
            return known;
        };
        unfinished = open;
        patience = LONGEST.min(patience * 2);
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                return Aftermath {
                    unfinished: Some(unfinished),
                    ..Aftermath::default()
                };
            }
            () = sleep_until(pause) => {}
        }
    }
}

impl Run {
    /// Looks on at what was not finished, while the model thinks.
    pub(super) fn look_on(&mut self, cx: &Context) {
        let Some(open) = self.open.as_mut().filter(|open| open.looking.is_none()) else {
            return;
        };
        let cancel = self.cancel.child_token();
        let cx = Context {
            cancel: cancel.clone(),
            ..cx.clone()
        };
        let (unfinished, runtime) = (open.unfinished.clone(), Handle::current());
        open.looking = Some(Looking {
            task: spawn_blocking(move || runtime.block_on(look(unfinished, cx))),
            ends: cancel.drop_guard(),
        });
    }

    /// Whether a look has come to its end.
    pub(super) fn has_looked(&self) -> bool {
        let looking = self.open.as_ref().and_then(|open| open.looking.as_ref());
        looking.is_some_and(|looking| looking.task.is_finished())
    }

    /// What has become known, for the model. It is waited for this long, and then called off.
    pub(super) async fn known_by_now(&mut self, patience: Duration) -> Option<Aftermath> {
        let Looking { mut task, ends } = self.open.as_mut()?.looking.take()?;
        let cancel = self.cancel.clone();
        let looked = async {
            if let Ok(looked) = timeout(patience, &mut task).await {
                return Some(looked);
            }
            drop(ends);
            timeout(WIND_UP, task).await.ok()
        };
        let looked = tokio::select! {
            biased;
            () = cancel.cancelled() => return None,
            looked = looked => looked?,
        };
        let mut known = looked
            .inspect_err(|error| tracing::error!(%error, "what was pending could not be looked at"))
            .ok()?;
        self.open = known.unfinished.take().map(Open::new);
        Some(known)
    }

    /// The same before the run ends: the errors that the model is to know of. What is still not known a person is told.
    pub(super) async fn last_news(&mut self, cx: &Context) -> Option<String> {
        self.open.as_ref()?;
        self.session.set_step("Checking what changed");
        let known = self.known_by_now(aftermath::DEADLINE).await;
        let known = known.unwrap_or_default();
        if known.has_errors {
            return known.text;
        }
        if let Some(open) = self.open.take() {
            self.outlet.emit(EventKind::Notice {
                message: format!("not checked in time: {}", open.unfinished.pending(cx)),
            });
        }
        None
    }
}
