//! The notifications that a client may send, one file a method.

pub(crate) mod did_change;
pub(crate) mod did_change_workspace_folders;
pub(crate) mod did_close;
pub(crate) mod did_open;
pub(crate) mod did_save;
pub(crate) mod initialized;
pub(crate) mod work_done_progress_cancel;
