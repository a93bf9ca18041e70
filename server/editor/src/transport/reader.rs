//! Reads frames from the client's end of the pipe. How bytes become frames is `framing`'s; what
//! frames mean is `dispatch`'s.

use tokio::io::{AsyncRead, AsyncReadExt};

use super::framing::{Frame, Framing};

/// How much is asked for at once. Less may come.
const READ_AT_ONCE: usize = 32 << 10;

/// The incoming frames.
pub(crate) struct Reader<R> {
    input: R,
    framing: Framing,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Nothing is read yet.
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            framing: Framing::default(),
        }
    }

    /// The next frame, or `None` at the end of input. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.framing.next() {
                return Some(frame);
            }
            let space = self.framing.space();
            space.reserve(READ_AT_ONCE);
            match self.input.read_buf(space).await {
                Ok(0) => {
                    if !self.framing.is_between_messages() {
                        tracing::warn!("the input ended inside a message");
                    }
                    return None;
                }
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::warn!("the input can't be read: {error}");
                    return None;
                }
            }
        }
    }
}
