//! LSP's framing, read as strictly as the specification allows: the headers that it names, `\r\n`,
//! a length that is right, UTF-8, one JSON object. It never repairs: what is wrong is an error that ends the reading.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

/// A message with its header.
pub fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Reads the next message; `None` at a clean end of the stream.
pub async fn next(
    input: &mut BufReader<impl tokio::io::AsyncRead + Unpin>,
) -> Result<Option<Value>, String> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let read = input
            .read_until(b'\n', &mut line)
            .await
            .map_err(|e| e.to_string())?;
        if read == 0 && length.is_none() {
            return Ok(None);
        }
        let line =
            String::from_utf8(line).map_err(|e| format!("a header that is not text: {e}"))?;
        let Some(line) = line.strip_suffix("\r\n") else {
            return Err(format!(
                "not a header line: {line:?} (does something print to stdout?)"
            ));
        };
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            Some(("Content-Length", value)) if length.is_none() => {
                length = Some(
                    value
                        .parse()
                        .map_err(|_| format!("not a length: {line:?}"))?,
                );
            }
            Some(("Content-Type", "application/vscode-jsonrpc; charset=utf-8")) => {}
            _ => {
                return Err(format!(
                    "not a header of LSP: {line:?} (does something print to stdout?)"
                ));
            }
        }
    }
    let length: usize = length.ok_or("a message without Content-Length")?;
    let mut body = vec![0; length];
    input
        .read_exact(&mut body)
        .await
        .map_err(|e| format!("cut message of {length} bytes: {e}"))?;
    let body = String::from_utf8(body).map_err(|e| format!("a message that is not UTF-8: {e}"))?;
    let message: Value = serde_json::from_str(&body)
        .map_err(|e| format!("a message that is not JSON: {e}: {body}"))?;
    if message.is_object() {
        Ok(Some(message))
    } else {
        Err(format!("not an object: {body}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn read(bytes: &[u8]) -> Result<Option<Value>, String> {
        next(&mut BufReader::new(bytes)).await
    }

    #[tokio::test]
    async fn reads_what_it_writes() {
        let message = json!({"jsonrpc": "2.0", "method": "é"});
        assert_eq!(read(&frame(&message)).await, Ok(Some(message)));
        assert_eq!(read(b"").await, Ok(None));
    }

    #[tokio::test]
    async fn refuses_what_is_not_lsp() {
        let wrong: [&[u8]; 7] = [
            b"Content-Length: 2\n\n{}",
            b"hello\r\n\r\n",
            b"Content-Length: 3\r\n\r\n{}",
            b"Content-Length: 2\r\n\r\n[]",
            b"Content-Length: two\r\n\r\n{}",
            b"\r\n{}",
            b"Content-Length: 2\r\n\r\n\xff\xff",
        ];
        for bytes in wrong {
            assert!(
                read(bytes).await.is_err(),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}
