//! The loop: sessions, prompts, the judge of every call, and the stream of events that a run is.
//! It knows tools and models; it does not know that an editor exists.

mod agent;
mod config;
mod event;
mod judge;
mod prompt;
pub mod quickfix;
mod run;
mod session;
mod small;
mod spent;
mod time;

pub use agent::{Agent, Models, NotChosen, RunRequest, StartError, Task, UnknownSession};
pub use config::AgentConfig;
pub use event::{Cure, Event, EventKind, Focus, Observer, Status, range_json};
pub use session::{RunInfo, SessionInfo};
pub use spent::Spent;
pub use time::rfc3339;
