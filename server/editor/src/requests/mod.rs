//! The requests that a client may make, one file a method.

pub(crate) mod code_action;
pub(crate) mod code_action_resolve;
pub(crate) mod execute_command;
pub(crate) mod initialize;
pub(crate) mod shutdown;
