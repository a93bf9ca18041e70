//! Real language servers, asked by the very tool that the model has, over small projects made on the spot. Each module shows
//! one promise; `cargo xtask test` installs the servers.

mod cold;
mod desk;
mod docs;
mod edited;
mod ends;
mod linked;
mod matrix;
mod names;
mod overlay;
mod qualified;
mod quirks;
mod samples;
mod servers;
mod wire;
