//! What small models that run on this machine can do with copydesk: projects with one error each, fixed by `copydesk fix` without a
//! model and with one. `cargo xtask test --local-model` runs what is ignored here, which needs 1.1 GB.

#![allow(clippy::print_stdout)] // a trial tells how it goes

mod checker;
mod fixing;
mod llama;
mod project;
#[path = "../servers/servers.rs"]
#[allow(dead_code)] // only where they are is of use here
mod servers;
mod speaks;
mod table;
mod trial;
