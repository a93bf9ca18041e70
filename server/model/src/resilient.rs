//! A model that is asked again when it fails for a while, and another one in its place when it goes on failing. Whatever is
//! waited for is told. Nothing is asked again once something in an answer may have been acted on.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, poll, stream};
use tokio_util::sync::CancellationToken;

use crate::{EventStream, ModelConfig, ModelError, Provider, Request, Stop, StreamEvent};

/// How long and how often a model is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often in all, the first time included.
    pub tries: u32,
    /// The wait before the second try, doubled before each further one; a quarter more or less, so that those who failed
    /// together do not come back together.
    pub first_wait: Duration,
    /// No wait is longer. A provider that asks for a longer one is not asked again.
    pub longest_wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            tries: 5,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(120),
        }
    }
}

/// A model with patience, and one to take its place; once it has, for good.
pub struct Resilient {
    first: Arc<dyn Provider>,
    fallback: Option<Arc<dyn Provider>>,
    patience: Patience,
    has_fallen: Arc<AtomicBool>,
}

impl Resilient {
    /// `fallback` answers when the tries of the first are used up, or it can't be reached, or does not let us in.
    pub fn new(
        first: Arc<dyn Provider>,
        fallback: Option<Arc<dyn Provider>>,
        patience: Patience,
    ) -> Self {
        Self {
            first,
            fallback,
            patience,
            has_fallen: Arc::default(),
        }
    }

    /// The one that answers now.
    fn present(&self) -> &Arc<dyn Provider> {
        let fallen = self.has_fallen.load(Ordering::Relaxed);
        let fallback = self.fallback.as_ref().filter(|_| fallen);
        fallback.unwrap_or(&self.first)
    }
}

#[async_trait]
impl Provider for Resilient {
    fn id(&self) -> &str {
        self.present().id()
    }

    fn facts(&self) -> ModelConfig {
        self.present().facts()
    }

    /// What goes wrong comes as a step of the answer: what is done about it may take minutes, and is told.
    async fn stream(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<EventStream, ModelError> {
        let fallen = self.has_fallen.load(Ordering::Relaxed);
        let provider = self.present().clone();
        let mut first = provider.stream(request, cancel);
        let answered = poll!(first.as_mut());
        // It is under way. For another try it is kept meanwhile: a long session takes its time to be copied.
        let kept = request.clone();
        let answered = match answered {
            Poll::Ready(answered) => answered,
            Poll::Pending => first.await,
        };
        let phase = match answered {
            Ok(stream) => Phase::Read(stream),
            Err(error) => Phase::Failed(error),
        };
        let asking = Asking {
            provider: provider.clone(),
            fallback: self.fallback.clone().filter(|_| !fallen),
            has_fallen: self.has_fallen.clone(),
            patience: self.patience,
            request: kept,
            cancel: cancel.clone(),
            tries: 1,
            phase,
            has_said: false,
            has_called: false,
        };
        Ok(Box::pin(stream::unfold(asking, |mut asking| async {
            asking.next().await.map(|step| (step, asking))
        })))
    }
}

/// One request, through all its tries.
struct Asking {
    provider: Arc<dyn Provider>,
    fallback: Option<Arc<dyn Provider>>,
    has_fallen: Arc<AtomicBool>,
    patience: Patience,
    request: Request,
    cancel: CancellationToken,
    /// How often the present provider was asked.
    tries: u32,
    phase: Phase,
    /// Whether anything came of this try.
    has_said: bool,
    /// Whether a call came whole: from then on nothing is asked again.
    has_called: bool,
}

enum Phase {
    /// To be asked.
    Ask,
    /// After this long.
    Wait(Duration),
    /// It answers.
    Read(EventStream),
    /// It did not.
    Failed(ModelError),
    Over,
}

impl Asking {
    async fn next(&mut self) -> Option<Result<StreamEvent, ModelError>> {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Failed(error) => return Some(self.failed(error)),
                Phase::Wait(pause) => {
                    tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => return Some(Err(ModelError::Cancelled)),
                        () = tokio::time::sleep(pause) => self.phase = Phase::Ask,
                    }
                    if std::mem::take(&mut self.has_said) {
                        return Some(Ok(StreamEvent::Again));
                    }
                }
                Phase::Ask => {
                    self.tries += 1;
                    match self.provider.stream(&self.request, &self.cancel).await {
                        Ok(stream) => self.phase = Phase::Read(stream),
                        Err(error) => return Some(self.failed(error)),
                    }
                }
                Phase::Read(mut stream) => match stream.next().await? {
                    Ok(step) => {
                        let is_end = matches!(step, StreamEvent::Done(_));
                        self.has_called |= matches!(step, StreamEvent::ToolCall(_));
                        self.has_said |= matches!(
                            step,
                            StreamEvent::Text(_)
                                | StreamEvent::Reasoning(_)
                                | StreamEvent::Thought(_)
                        );
                        if !is_end {
                            self.phase = Phase::Read(stream);
                        }
                        return Some(Ok(step));
                    }
                    Err(error) => {
                        drop(stream);
                        return Some(self.failed(error));
                    }
                },
            }
        }
    }

    /// What is to be said of a failure; the phase is then that of what comes next.
    fn failed(&mut self, error: ModelError) -> Result<StreamEvent, ModelError> {
        if error == ModelError::Cancelled {
            return Err(error);
        }
        if self.has_called {
            // What came whole is acted on, and the model goes on from there.
            tracing::info!(%error, "failed after its calls were complete");
            return Ok(StreamEvent::Done(Stop::ToolCalls));
        }
        let left = self.patience.tries.saturating_sub(self.tries);
        let pause = self.pause(&error).filter(|_| left > 0);
        if let Some(pause) = pause {
            self.phase = Phase::Wait(pause);
            // Of what is added by chance nobody has to know.
            let seconds = pause.as_secs_f64().round().max(1.0);
            let plural = if left == 1 { "try" } else { "tries" };
            return Ok(StreamEvent::Notice(format!(
                "{}: next try in {seconds} s ({left} {plural} left)",
                cause(&error)
            )));
        }
        match self.fallback.take().filter(|_| may_fall_back(&error)) {
            Some(fallback) => {
                let message = format!("{error}. {} answers instead", fallback.id());
                self.provider = fallback;
                self.has_fallen.store(true, Ordering::Relaxed);
                self.tries = 0;
                self.phase = Phase::Wait(Duration::ZERO);
                Ok(StreamEvent::Notice(message))
            }
            None => Err(error),
        }
    }

    /// How long to wait before this is tried again; `None` if it would only fail again.
    fn pause(&self, error: &ModelError) -> Option<Duration> {
        let (is_passing, asked) = match error {
            ModelError::Status {
                passes,
                retry_after,
                ..
            } => (*passes, *retry_after),
            ModelError::Stream(_) | ModelError::Idle(_) => (true, None),
            // Once more: garbage from a server that is being restarted is not seen twice.
            ModelError::Malformed(_) => (self.tries < 2, None),
            _ => (false, None),
        };
        if !is_passing {
            return None;
        }
        let doubled = 1_u32.checked_shl(self.tries.saturating_sub(1));
        let own = self
            .patience
            .first_wait
            .saturating_mul(doubled.unwrap_or(u32::MAX))
            .min(self.patience.longest_wait);
        match asked {
            Some(asked) if asked > self.patience.longest_wait => None,
            // A little later than asked: whoever comes a moment too early has to come again.
            Some(asked) => Some(asked + jitter(own / 4)),
            None => Some(own * 3 / 4 + jitter(own / 2)),
        }
    }
}

/// What a person is told of it while it is waited out.
fn cause(error: &ModelError) -> String {
    match error {
        ModelError::Status {
            provider, status, ..
        } => match status {
            429 => format!("rate limited by {provider} (429)"),
            408 | 504 => format!("{provider} took too long ({status})"),
            502 | 503 | 529 => format!("{provider} is overloaded or down ({status})"),
            _ => format!("{provider} failed ({status})"),
        },
        ModelError::Idle(idle) => format!("the model has said nothing for {} s", idle.as_secs()),
        ModelError::Malformed(_) => "the answer could not be understood".to_owned(),
        other => other.to_string().trim_end_matches(". Try again").to_owned(),
    }
}

/// Whether another model might do what this one did not.
fn may_fall_back(error: &ModelError) -> bool {
    !matches!(error, ModelError::Cancelled | ModelError::TooLong { .. })
}

/// Between nothing and `most`, by chance.
fn jitter(most: Duration) -> Duration {
    // The hasher's keys differ each time.
    let chance = RandomState::new().hash_one(0_u8) >> 32;
    let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    let share = u128::from(nanos) * u128::from(chance) / u128::from(u32::MAX);
    Duration::from_nanos(u64::try_from(share).unwrap_or(nanos))
}

#[cfg(test)]
mod tests;
