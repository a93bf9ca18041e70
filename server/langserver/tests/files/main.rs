//! What servers hear of the disk: files that others change, by what each server registered, and what we do to files
//! ourselves.

#[path = "../stand/mod.rs"]
mod stand;

mod changed_by_others;
mod done_by_us;
mod heard;
mod shown;
