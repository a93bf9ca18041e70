//! How each editor behaves, as values: what was measured of real ones (see docs/architecture.md and the profiles).
//! It never acts: `apply` and `document` read it.

use std::time::Duration;

/// The ways of one editor. Take one by name and change fields with struct update syntax.
#[derive(Clone, Debug)]
pub struct Ways {
    /// The editor's name.
    pub name: &'static str,
    /// The profile in `tests/profiles` that `initialize` sends.
    pub profile: &'static str,
    /// What happens to an edit for a version that is no longer the buffer's.
    pub stale: Stale,
    /// Whether a version of 0 in an edit is held against the buffer's.
    pub checks_version_zero: bool,
    /// Applies `documentChanges` though it never said so.
    pub takes_document_changes: bool,
    /// What `didChange` holds, if the server offers both.
    pub sync: Sync,
    /// When the `didChange` for an applied edit is sent.
    pub echo: Echo,
    /// How long typing waits for more typing before it is sent.
    pub debounce: Option<Duration>,
    /// Computes a change anew from the texts when it sends it, so that an edit and typing may come as one change.
    pub rediffs: bool,
    /// Passes a server only that server's own diagnostics.
    pub own_diagnostics_only: bool,
    /// Knows `window/showMessageRequest` (others answer -32601).
    pub shows_message_requests: bool,
    /// The version of `didOpen`.
    pub first_version: i64,
    /// How far the version goes on at a change.
    pub version_step: i64,
}

/// What an editor does with a stale edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// Leaves it and answers `applied: false` without a reason.
    Refuse,
    /// Leaves it and answers `applied: false` with a reason and the failed change.
    RefuseWithReason,
    /// Leaves it and answers with a JSON-RPC error.
    Error,
    /// Leaves it and answers `applied: true`.
    SkipAndLie,
    /// Applies it to the newer text all the same.
    Apply,
}

/// What `didChange` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Ranges.
    Incremental,
    /// The whole text each time.
    Full,
}

/// When an applied edit comes back as `didChange`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Before the answer to `workspace/applyEdit`.
    BeforeReply,
    /// Right after it.
    AfterReply,
    /// So long after it, together with what was typed meanwhile.
    Late(Duration),
}

/// Neovim's own wait before it sends changes.
const NEOVIM_DEBOUNCE: Duration = Duration::from_millis(150);
/// eglot waits for idle time (half a second; less here, to keep the tests short).
const EGLOT_IDLE: Duration = Duration::from_millis(40);

impl Ways {
    /// VS Code with vscode-languageclient.
    pub fn vscode() -> Self {
        Self {
            name: "vscode",
            profile: "vscode_1.139.1_lc11",
            stale: Stale::Refuse,
            checks_version_zero: true,
            takes_document_changes: false,
            sync: Sync::Incremental,
            echo: Echo::BeforeReply,
            debounce: None,
            rediffs: false,
            own_diagnostics_only: false,
            shows_message_requests: true,
            first_version: 1,
            version_step: 1,
        }
    }

    /// Neovim 0.11: re-diffs, merges, says `applied: true` whatever it did.
    pub fn neovim() -> Self {
        Self {
            name: "neovim",
            profile: "neovim_0.11.4",
            stale: Stale::SkipAndLie,
            checks_version_zero: false,
            takes_document_changes: true,
            echo: Echo::Late(NEOVIM_DEBOUNCE),
            debounce: Some(NEOVIM_DEBOUNCE),
            rediffs: true,
            own_diagnostics_only: true,
            first_version: 0,
            version_step: 2,
            ..Self::vscode()
        }
    }

    /// Helix.
    pub fn helix() -> Self {
        Self {
            name: "helix",
            profile: "helix_25.07.1",
            stale: Stale::RefuseWithReason,
            first_version: 0,
            ..Self::vscode()
        }
    }

    /// eglot, in Emacs: changes wait for idle time.
    pub fn eglot() -> Self {
        Self {
            name: "eglot",
            profile: "eglot_1.9",
            stale: Stale::Error,
            echo: Echo::Late(EGLOT_IDLE),
            debounce: Some(EGLOT_IDLE),
            first_version: 0,
            ..Self::vscode()
        }
    }

    /// lsp-mode, in Emacs.
    pub fn lsp_mode() -> Self {
        Self {
            name: "lsp-mode",
            profile: "lspmode_8.0.0",
            first_version: 0,
            ..Self::vscode()
        }
    }

    /// kak-lsp: full text only, and never looks at a version.
    pub fn kak_lsp() -> Self {
        Self {
            name: "kak-lsp",
            profile: "kakoune-lsp_22",
            stale: Stale::Apply,
            sync: Sync::Full,
            echo: Echo::AfterReply,
            version_step: 3,
            ..Self::vscode()
        }
    }

    /// Kate: full text only, no versions in edits, no message requests.
    pub fn kate() -> Self {
        Self {
            name: "kate",
            profile: "kate_22.12",
            stale: Stale::Apply,
            sync: Sync::Full,
            echo: Echo::AfterReply,
            shows_message_requests: false,
            first_version: 0,
            ..Self::vscode()
        }
    }

    /// Every editor above.
    pub fn all() -> Vec<Self> {
        vec![
            Self::vscode(),
            Self::neovim(),
            Self::helix(),
            Self::eglot(),
            Self::lsp_mode(),
            Self::kak_lsp(),
            Self::kate(),
        ]
    }
}
