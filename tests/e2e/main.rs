//! End to end: each module shows one promise on the real binary.

mod aimock;
mod arrows;
mod bad_input;
mod choosing;
mod compiler;
mod consequences;
mod doctor;
mod edits;
mod killed;
mod later;
mod login;
mod main_job;
mod models;
mod neovim;
mod neovim_files;
mod order;
mod patience;
mod profiles;
mod proxies;
mod runs;
mod secrets;
mod servers;
mod settings;
mod small;
mod terminal;
mod world;
