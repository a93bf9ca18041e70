//! End to end: each module shows one promise on the real binary.

mod arrows;
mod neovim;
mod profiles;
