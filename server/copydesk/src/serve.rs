//! The editor's door over stdio, and how it gets its rooms.

use std::{process::ExitCode, sync::Arc};

use editor::{Assembled, Assembly, Opening};

use crate::rooms;

/// Builds the rooms once the editor has said which folders it has open.
pub struct Rooms;

impl Assembly for Rooms {
    fn assemble(&self, opening: Opening) -> Assembled {
        let rooms::Rooms {
            agent,
            pool,
            warnings,
        } = rooms::build(&opening.roots, &opening.options, &opening.workspace);
        Assembled {
            agent,
            pool,
            warnings,
        }
    }
}

/// Serves until the editor ends it.
pub async fn serve() -> ExitCode {
    let code = editor::serve(tokio::io::stdin(), tokio::io::stdout(), Arc::new(Rooms)).await;
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
