//! What makes small models useful: what they can't do is done for them. They are shown what they need to know and asked for
//! lines of code and nothing else; finding things, placing the code and checking it is ours.

mod align;
mod answer;
mod brief;
mod known;
mod lines;

pub(crate) use answer::{Change, Shown, changes};
pub(crate) use brief::{Brief, message};

/// What a small model is told it is.
pub(crate) const SYSTEM: &str = include_str!("small/system.md");
