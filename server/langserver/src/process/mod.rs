//! Child processes that never outlive us: each starts in a group of its own, is known to the supervisor before it
//! runs its first instruction, and goes with every process that it started. Used for language servers, and by the
//! rooms above for whatever else they spawn. It never judges what may be started.

mod signals;
mod supervisor;
mod table;
mod tree;

use std::io;

use tokio::process::{Child, Command};

pub use supervisor::{supervise, supervise_with};
pub use table::machine_memory;
pub use tree::{Tree, end_tree, memory};

/// The variable that marks every process of a tree, so that one which left its group and its parent is still found.
pub const MARKER: &str = "COPYDESK_TREE";

/// A running child and its tree. Dropping it ends the tree.
#[derive(Debug)]
pub struct Process {
    /// The child itself: its pipes and its exit.
    pub child: Child,
    /// All that descends from it.
    pub tree: Tree,
}

/// Starts `command` as a tree of its own. What it may read and write is the caller's to set beforehand.
///
/// The pid is registered by the child itself between fork and exec: whenever we die, the supervisor knows it.
pub fn spawn(mut command: Command) -> io::Result<Process> {
    let marker = tree::new_marker();
    command.env(MARKER, &marker);
    #[cfg(unix)]
    command.process_group(0);
    let child = supervisor::spawn_registered(&mut command)?;
    // A child that has no pid any more has already been waited for, which nobody could have done yet.
    let pid = child
        .id()
        .ok_or_else(|| io::Error::other("the child has no process id"))?;
    Ok(Process {
        child,
        tree: Tree::new(pid, marker),
    })
}
