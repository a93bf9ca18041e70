//! The test house: what end-to-end tests stand on. The strict editor client, projects made on the spot, real editors. It knows
//! copydesk only from outside, by its process and its messages.

pub mod client;
pub mod fixtures;
pub mod installed;
pub mod model;
pub mod neovim;
pub mod terminal;
