//! `grep`: a pattern in every visible text. The buffer stands for its file, and no more than the newest matches is held.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkMatch};
use tokio_util::sync::CancellationToken;

use crate::{
    DocumentUri, ReadError, Snapshot, Text, Workspace,
    disk::{BINARY_PROBE, open, open_without_waiting},
};

use super::{
    GrepFound, GrepMatch, GrepQuery, SearchError,
    line::{lone_returns, show},
    newest::{Age, Newest},
    path_glob::PathGlob,
    pattern::{Finder, Pattern},
    scope::{Entry, Misses, Open, Scope},
};

/// The largest file that is searched over its lines, since all of it is held for that.
const LARGEST_WHOLE: u64 = 64 * 1024 * 1024;
/// So many matches go by between two looks at whether the search was cancelled.
const MATCHES_A_LOOK: usize = 256;
/// So many bytes are read between two such looks.
const STRETCH: u64 = 256 * 1024;
/// The byte order mark, which the searcher leaves out.
const MARK: &[u8] = "\u{feff}".as_bytes();

pub(super) fn run(
    workspace: &Workspace,
    query: &GrepQuery,
    cancel: &CancellationToken,
) -> Result<GrepFound, SearchError> {
    let pattern = Pattern::new(&query.pattern, query.case)?;
    let include = query.include.as_deref().map(PathGlob::new).transpose()?;
    let scope = Scope::new(workspace, query.path.as_deref())?;
    let search = Search {
        pattern,
        limit: query.limit,
        cancel,
        misses: Misses::default(),
        newest: Newest::new(query.limit),
        total: AtomicUsize::new(0),
        documents: AtomicUsize::new(0),
    };
    search.everything(&scope, include.as_ref())?;
    if cancel.is_cancelled() {
        return Err(SearchError::Cancelled);
    }
    Ok(search.finish())
}

/// One search, shared by the threads of its walk.
struct Search<'a> {
    pattern: Pattern,
    limit: usize,
    cancel: &'a CancellationToken,
    misses: Misses,
    newest: Newest<Found>,
    total: AtomicUsize,
    documents: AtomicUsize,
}

/// What was found in one document.
struct Found {
    /// `None` for a file on disk.
    buffer: Option<Buffer>,
    lines: Vec<Line>,
}

struct Buffer {
    uri: DocumentUri,
    text: Text,
    unsaved: bool,
}

struct Line {
    /// Where the line starts, as the searcher counts lines, in bytes.
    offset: usize,
    number: usize,
    column: usize,
    text: String,
}

impl Search<'_> {
    fn everything(&self, scope: &Scope, include: Option<&PathGlob>) -> Result<(), SearchError> {
        let mut finder = self.pattern.finder();
        if let Some(path) = &scope.file {
            if scope.open.is_empty() {
                return self.asked_for(&mut finder, path);
            }
            scope
                .open
                .iter()
                .for_each(|open| self.buffer(&mut finder, open));
            return Ok(());
        }
        scope.walk(include, self.cancel, &self.misses, || {
            let mut finder = self.pattern.finder();
            move |entry: &Entry<'_>| self.walked(&mut finder, entry)
        })?;
        scope
            .unseen(include)
            .for_each(|open| self.buffer(&mut finder, open));
        Ok(())
    }

    fn walked(&self, finder: &mut Finder, entry: &Entry<'_>) {
        if !entry.open.is_empty() {
            return entry.buffers().for_each(|open| self.buffer(finder, open));
        }
        if !entry.file.file_type().is_some_and(|kind| kind.is_file()) {
            return;
        }
        let path = entry.file.path();
        match open_without_waiting(path) {
            Ok(file) => {
                self.file(finder, &file, || entry.spelled());
            }
            // What is gone by the time that it is looked at was not there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.misses.add(&entry.spelled(), &error),
        }
    }

    /// The one file that was asked for: what can't be searched in it is an error.
    fn asked_for(&self, finder: &mut Finder, path: &Path) -> Result<(), SearchError> {
        let (file, _) = open(path)?;
        match self.file(finder, &file, || path.to_owned()) {
            Some(offset) => Err(ReadError::Binary {
                path: path.to_owned(),
                offset,
            }
            .into()),
            None => Ok(()),
        }
    }

    /// Searches a file; gives where its NUL is if it is binary, and has no matches then.
    fn file(&self, finder: &mut Finder, file: &File, name: impl Fn() -> PathBuf) -> Option<usize> {
        let Finder { matcher, searcher } = finder;
        let written = || file.metadata().and_then(|metadata| metadata.modified());
        let mut sink = Lines::new(self, matcher, || Age::Saved(written().ok()));
        let mut reader = Watched::new(self, file);
        reader.is_text = false;
        let result = searcher.search_reader(&*matcher, &mut reader, &mut sink);
        if reader.nul.is_some() {
            return reader.nul;
        }
        self.book(result, sink, name, None);
        None
    }

    fn buffer(&self, finder: &mut Finder, open: &Open) {
        let Finder { matcher, searcher } = finder;
        let Snapshot { uri, text, .. } = &open.snapshot;
        let (age, unsaved) = open.age();
        let mut sink = Lines::new(self, matcher, || age);
        let chunks = Chunks {
            chunks: text.chunks(),
            rest: &[],
        };
        let reader = Watched::new(self, chunks);
        let result = searcher.search_reader(&*matcher, reader, &mut sink);
        let name = || {
            uri.path()
                .map_or_else(|| uri.as_str().into(), Path::to_owned)
        };
        self.book(
            result,
            sink,
            name,
            Some(Buffer {
                uri: uri.clone(),
                text: text.clone(),
                unsaved,
            }),
        );
    }

    fn book<A>(
        &self,
        result: io::Result<()>,
        sink: Lines<'_, A>,
        name: impl Fn() -> PathBuf,
        buffer: Option<Buffer>,
    ) {
        if let Err(error) = result
            && !self.cancel.is_cancelled()
        {
            self.misses.add(&name(), &error);
        }
        if sink.total > 0 {
            self.total.fetch_add(sink.total, Ordering::Relaxed);
            self.documents.fetch_add(1, Ordering::Relaxed);
            let lines = sink.kept;
            if let Some(age) = sink.age.filter(|_| !lines.is_empty()) {
                self.newest
                    .add(age, name(), lines.len(), Found { buffer, lines });
            }
        }
    }

    fn finish(self) -> GrepFound {
        let mut matches = Vec::new();
        for (path, found) in self.newest.into_sorted() {
            let Found { buffer, mut lines } = found;
            let (uri, unsaved) = if let Some(Buffer { uri, text, unsaved }) = buffer {
                let chunks = Chunks {
                    chunks: text.chunks(),
                    rest: &[],
                };
                count_lone_returns(&mut lines, chunks);
                (uri, unsaved)
            } else {
                match open_without_waiting(&path) {
                    Ok(file) => count_lone_returns(&mut lines, file),
                    // It was there a moment ago; its lines are told as they were.
                    Err(error) => tracing::debug!(path = %path.display(), %error, "gone"),
                }
                match DocumentUri::from_path(&path) {
                    Ok(uri) => (uri, false),
                    Err(error) => {
                        self.misses.add(&path, &error);
                        continue;
                    }
                }
            };
            let room = self.limit - matches.len();
            matches.extend(lines.into_iter().take(room).map(|line| GrepMatch {
                uri: uri.clone(),
                line: line.number,
                column: line.column,
                text: line.text,
                unsaved,
            }));
        }
        let total = self.total.into_inner();
        GrepFound {
            truncated: total > matches.len(),
            matches,
            total,
            files: self.documents.into_inner(),
            unsearched: self.misses.into_inner(),
        }
    }
}

/// Adds the lines that end at a lone `\r` to the numbers that the searcher gave. The few documents that are shown are
/// read again for that, which costs less than to look for it in all.
fn count_lone_returns(lines: &mut [Line], text: impl Read) {
    let Some(last) = lines.last().map(|line| line.offset) else {
        return;
    };
    // Nothing comes before the first line; and what is so large is no text of that age.
    if last == 0 || last as u64 > LARGEST_WHOLE {
        return;
    }
    let mut start = Vec::new();
    if text
        .take((last + MARK.len()) as u64)
        .read_to_end(&mut start)
        .is_err()
    {
        return;
    }
    let text = start;
    // Of a text in UTF-16, the searcher saw another form.
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return;
    }
    let text = text.strip_prefix(MARK).unwrap_or(&text);
    let (mut counted, mut from) = (0, 0);
    for line in lines {
        let to = line.offset.clamp(from, text.len().max(from));
        counted += lone_returns(&text[from..], to - from);
        from = to;
        line.number += counted;
    }
}

/// Takes the matches of one document: the first so many as they are shown, if the document is new enough; else their
/// number.
struct Lines<'a, A> {
    search: &'a Search<'a>,
    matcher: &'a RegexMatcher,
    age_of: A,
    age: Option<Age>,
    kept: Vec<Line>,
    wanted: usize,
    total: usize,
}

impl<'a, A: Fn() -> Age> Lines<'a, A> {
    const fn new(search: &'a Search<'a>, matcher: &'a RegexMatcher, age_of: A) -> Self {
        Self {
            search,
            matcher,
            age_of,
            age: None,
            kept: Vec::new(),
            wanted: 0,
            total: 0,
        }
    }
}

impl<A: Fn() -> Age> Sink for Lines<'_, A> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.total == 0 {
            // Asked only now: most files have no match, and need not be asked for their age.
            let age = (self.age_of)();
            self.wanted = if self.search.newest.wants(age) {
                self.search.limit
            } else {
                0
            };
            self.age = Some(age);
        }
        self.total += 1;
        if self.kept.len() < self.wanted {
            let block = found.bytes();
            let place = self.matcher.find(block).ok().flatten();
            let shown = show(
                block,
                place.map_or(0..0, |place| place.start()..place.end()),
            );
            self.kept.push(Line {
                offset: usize::try_from(found.absolute_byte_offset()).unwrap_or(usize::MAX),
                number: found
                    .line_number()
                    .map_or(1, |number| usize::try_from(number).unwrap_or(usize::MAX))
                    + shown.lines_before,
                column: shown.column,
                text: shown.text,
            });
        }
        Ok(!self.total.is_multiple_of(MATCHES_A_LOOK) || !self.search.cancel.is_cancelled())
    }
}

/// A reader that ends with an error when the search is cancelled, or finds that it is no text, or gets too much.
struct Watched<'a, R> {
    inner: R,
    cancel: &'a CancellationToken,
    /// How many bytes there may be.
    longest: u64,
    /// How many there were.
    read: u64,
    /// From how many on it looks whether the search was cancelled.
    next_look: u64,
    /// Whether it is known to be text, and need not be looked at.
    is_text: bool,
    /// Where a NUL is that makes it binary.
    nul: Option<usize>,
}

impl<'a, R> Watched<'a, R> {
    const fn new(search: &'a Search<'_>, inner: R) -> Self {
        let longest = if search.pattern.multi_line {
            LARGEST_WHOLE
        } else {
            u64::MAX
        };
        Self {
            inner,
            cancel: search.cancel,
            longest,
            read: 0,
            next_look: STRETCH,
            is_text: true,
            nul: None,
        }
    }

    /// Looks for a NUL where `read` looks for it; bytes that announce another encoding may have some.
    fn look_at(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.read == 0 && (bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")) {
            self.is_text = true;
            return Ok(());
        }
        let before = self.read as usize;
        let start = &bytes[..bytes.len().min(BINARY_PROBE - before)];
        // `contains` is many times faster than `position`, and most files have none.
        if start.contains(&0) {
            self.nul = start
                .iter()
                .position(|byte| *byte == 0)
                .map(|at| before + at);
        }
        self.is_text = before + bytes.len() >= BINARY_PROBE;
        if self.nul.is_some() {
            Err(io::Error::other("a binary file"))
        } else {
            Ok(())
        }
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Asked once a stretch: all threads share the lock behind it, and a walk asks for each file.
        if self.read >= self.next_look {
            self.next_look = self.read + STRETCH;
            if self.cancel.is_cancelled() {
                return Err(io::Error::other("cancelled"));
            }
        }
        let length = self.inner.read(buffer)?;
        if !self.is_text {
            self.look_at(&buffer[..length])?;
        }
        self.read += length as u64;
        if self.read > self.longest {
            let most = LARGEST_WHOLE >> 20;
            let reason =
                format!("more than {most} MB, which is too large for a pattern over several lines");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        Ok(length)
    }
}

/// Reads a text piece by piece.
struct Chunks<'a, I> {
    chunks: I,
    rest: &'a [u8],
}

impl<'a, I: Iterator<Item = &'a str>> Read for Chunks<'a, I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.chunks.next() {
                Some(chunk) => self.rest = chunk.as_bytes(),
                None => return Ok(0),
            }
        }
        self.rest.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::pattern::Case, *};

    /// Lines without end; the search is cancelled after so many bytes of them.
    struct Endless<'a> {
        cancel: &'a CancellationToken,
        read: usize,
        cancelled_at: usize,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'\n');
            self.read += buffer.len();
            if self.read >= self.cancelled_at {
                self.cancel.cancel();
            }
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_cancel_ends_the_search_inside_a_file() {
        for (pattern, matches) in [("needle", false), ("^", true)] {
            let cancel = CancellationToken::new();
            let search = Search {
                pattern: Pattern::new(pattern, Case::Sensitive).expect("a pattern"),
                limit: 1,
                cancel: &cancel,
                misses: Misses::default(),
                newest: Newest::new(1),
                total: AtomicUsize::new(0),
                documents: AtomicUsize::new(0),
            };
            let cancelled_at = 4 << 20;
            let mut endless = Endless {
                cancel: &cancel,
                read: 0,
                cancelled_at,
            };
            let Finder {
                matcher,
                mut searcher,
            } = search.pattern.finder();
            let mut sink = Lines::new(&search, &matcher, || Age::Saved(None));
            let reader = Watched::new(&search, &mut endless);
            let result = searcher.search_reader(&matcher, reader, &mut sink);
            // Between two matches it just stops.
            assert!(result.is_err() || matches);
            assert_eq!(sink.total > 0, matches);
            assert!(
                endless.read <= cancelled_at + 2 * STRETCH as usize,
                "{} bytes",
                endless.read
            );
        }
    }
}
