//! Writing over a file without replacing it, so that the old content survives an error. For files that must stay the
//! very same file; all others are replaced atomically.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
};

/// The whole content of an open file, from its start.
pub(super) fn content(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts `new` in the place of `old`, which is the file's whole content.
///
/// What needs more room comes first: if the disk is full, the file is cut back to its old length and nothing is lost.
/// What then goes over old bytes needs no room; if it fails all the same, the old bytes are put back.
pub(super) fn overwrite(file: &mut File, old: &[u8], new: &[u8]) -> io::Result<()> {
    let shared = old.len().min(new.len());
    if let Err(error) = write_at(file, shared, &new[shared..]) {
        file.set_len(old.len() as u64)?;
        return Err(error);
    }
    if let Err(error) =
        write_at(file, 0, &new[..shared]).and_then(|()| file.set_len(new.len() as u64))
    {
        write_at(file, 0, old)?;
        file.set_len(old.len() as u64)?;
        return Err(error);
    }
    Ok(())
}

fn write_at(file: &mut File, start: usize, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(start as u64))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_shorter_and_empty() {
        for (old, new) in [
            ("abc", "abcdef"),
            ("abcdef", "xy"),
            ("", "x"),
            ("x", ""),
            ("same", "same"),
        ] {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(old.as_bytes()).expect("written");
            overwrite(&mut file, old.as_bytes(), new.as_bytes()).expect("overwritten");
            assert_eq!(
                content(&mut file).expect("read"),
                new.as_bytes(),
                "{old:?} to {new:?}"
            );
        }
    }
}
