//! Questions whose answer is a list of places, and the hover.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};
use workspace::{ByteOffset, DocumentUri, Reading};

use super::{Question, about_position};
use crate::{
    answer::{Answer, Location, QueryError},
    blocking::blocking,
    server::{About, Had},
    wire::{self, Place, Read},
};

/// So many places outside of the workspace are read of an answer: a name of a library has thousands there, and who asks
/// for it mostly means those in the project.
pub(super) const OUTSIDE: usize = 20;
/// The same of those whose paths have the part that was asked for.
const OUTSIDE_NAMED: usize = 300;

/// What is asked for by a question that is answered with places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// Where it is defined.
    Definitions,
    /// Where its type is defined.
    TypeDefinitions,
    /// Where it is implemented.
    Implementations,
    /// Where it is used; its declaration is not among these.
    Uses,
}

impl Question {
    /// Places of any kind. Of those outside of the workspace more are read if their paths have this part.
    pub async fn places(
        self,
        what: Places,
        at: ByteOffset,
        part: Option<&str>,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let method = match what {
            Places::Definitions => "textDocument/definition",
            Places::TypeDefinitions => "textDocument/typeDefinition",
            Places::Implementations => "textDocument/implementation",
            Places::Uses => return self.used(at, false, part).await,
        };
        let params = |about: &About<'_>| about_position(about, &self.seen, at);
        self.placed(method, part, params).await
    }

    /// Any question about a place that is answered with places.
    pub async fn locations(
        self,
        method: &'static str,
        at: ByteOffset,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let params = |about: &About<'_>| about_position(about, &self.seen, at);
        self.placed(method, None, params).await
    }

    pub async fn references(
        self,
        at: ByteOffset,
        include_declaration: bool,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        self.used(at, include_declaration, None).await
    }

    async fn used(
        &self,
        at: ByteOffset,
        include_declaration: bool,
        part: Option<&str>,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let params = |about: &About<'_>| {
            let mut params = about_position(about, &self.seen, at);
            params["context"] = json!({"includeDeclaration": include_declaration});
            params
        };
        self.placed("textDocument/references", part, params).await
    }

    async fn placed(
        &self,
        method: &'static str,
        part: Option<&str>,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<Answer<Vec<Location>>, QueryError> {
        let (asked, complete) = self.ask(method, params).await?;
        let read = self.fit(method, wire::read_locations(&asked.answer))?;
        let located = self.locate(read, asked.texts, part).await?;
        Ok(Answer {
            outside: located.outside,
            changed: located.changed,
            ..self.answered(located.read, complete, located.left_out)
        })
    }

    pub async fn hover(self, at: ByteOffset) -> Result<Answer<Option<String>>, QueryError> {
        const METHOD: &str = "textDocument/hover";
        let (asked, complete) = self.ask_at(METHOD, at).await?;
        let hover = wire::read_tree(&asked.answer).and_then(|hover| wire::read_hover(&hover));
        let hover = self.fit(METHOD, hover)?;
        Ok(self.answered_with(self.trouble(), hover, complete, 0))
    }

    /// Whether what stands at a place is defined in a file that is not to be shown: then its signature, its value and its
    /// comment are not, either.
    pub async fn is_of_hidden(&self, at: ByteOffset) -> Result<bool, QueryError> {
        const METHOD: &str = "textDocument/definition";
        if !self.server.supports(METHOD, Some(&self.document)) {
            return Ok(false);
        }
        let asked = self
            .ask_alone(METHOD, |about| about_position(about, &self.seen, at))
            .await;
        let asked = match asked {
            Ok(asked) => asked,
            // Some fail where there is none.
            Err(QueryError::Failed { .. } | QueryError::NotSupported { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let Ok(Read { found, .. }) = wire::read_locations(&asked.answer) else {
            return Ok(false);
        };
        let workspace = self.workspace.clone();
        blocking(move || {
            found
                .iter()
                .filter_map(|(uri, _)| uri.path())
                .any(|path| workspace.is_ignored_for_model(path))
        })
        .await
    }

    /// Ranges in the texts that the server had, or else in what is read now, each once; and how many could not be read, or
    /// were not for lying outside.
    async fn locate(
        &self,
        Read { found, broken }: Read<Place>,
        texts: Had,
        part: Option<&str>,
    ) -> Result<Located, QueryError> {
        let part = part.map(str::to_owned);
        let choose = move |reading: &mut Reading<'_>| {
            let (found, outside) = near(found, reading, part.as_deref());
            let uris = found.iter().map(|(uri, _)| uri.clone()).collect();
            (uris, (found, outside))
        };
        self.with_texts_of(texts, choose, move |(found, outside), shelf| {
            let mut known = BTreeSet::new();
            let (mut left_out, mut changed) = (broken, 0);
            let mut locations = Vec::with_capacity(found.len());
            for place in &found {
                let Some(location) = shelf.place(place) else {
                    left_out += 1;
                    changed += usize::from(shelf.has_changed(&place.0));
                    continue;
                };
                // By the one name that a file has here, whatever it was named by.
                if known.insert((location.snapshot.uri.clone(), location.range)) {
                    locations.push(location);
                }
            }
            Located {
                read: locations,
                left_out,
                changed,
                outside,
            }
        })
        .await
    }
}

/// What became of an answer's places.
struct Located {
    read: Vec<Location>,
    /// How many could not be read.
    left_out: usize,
    /// How many of those because of a change.
    changed: usize,
    /// How many lie outside of the workspace, and were not.
    outside: usize,
}

/// The places to be read, and how many more lie outside of the workspace. What has no path is not outside: nothing can be
/// read of it anyway.
fn near(found: Vec<Place>, reading: &mut Reading<'_>, part: Option<&str>) -> (Vec<Place>, usize) {
    /// How a document is counted.
    #[derive(Clone, Copy)]
    enum Lies {
        Inside,
        Outside,
        /// Outside, and asked for by its path.
        Named,
    }
    let mut lies = |uri: &DocumentUri| match uri.path() {
        Some(path) if !reading.contains(path) => {
            let path = path.to_string_lossy();
            match part.is_some_and(|part| path.contains(part)) {
                true => Lies::Named,
                false => Lies::Outside,
            }
        }
        _ => Lies::Inside,
    };
    let mut known: BTreeMap<DocumentUri, Lies> = BTreeMap::new();
    let (mut plain, mut named) = (HashSet::new(), HashSet::new());
    let mut more = HashSet::new();
    let mut near = Vec::with_capacity(found.len());
    for (uri, range) in found {
        let lies = match known.get(&uri) {
            Some(known) => *known,
            None => *known.entry(uri.clone()).or_insert_with(|| lies(&uri)),
        };
        let (counted, most) = match lies {
            Lies::Inside => {
                near.push((uri, range));
                continue;
            }
            Lies::Outside => (&mut plain, OUTSIDE),
            Lies::Named => (&mut named, OUTSIDE_NAMED),
        };
        let place = (uri, range);
        if counted.contains(&place) || counted.len() < most {
            counted.insert(place.clone());
            near.push(place);
        // Where some were asked for by their paths, the others are not missed.
        } else if matches!(lies, Lies::Named) || part.is_none() {
            more.insert(place);
        }
    }
    (near, more.len())
}
