//! The language servers that run in the editor, asked through it in place of servers of our own. They have the editor's
//! own texts, and nobody knows which of them answers: what one does not answer, a server of ours is asked; from then on, if
//! it can't.

mod said;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use serde_json::{Value, json, value::to_raw_value};
use tokio::{sync::Notify, time::Instant};
use workspace::{Buffers, DocumentUri, Encoding, Snapshot};

use self::said::Said;
pub(crate) use self::said::keep_asked;
use super::{About, Asked, Had, ask::is_unsupported};
use crate::{
    answer::QueryError,
    client::{Patience, RequestError, RpcError},
    mirror::{Texts, language},
};

/// How they are called in answers.
pub(crate) const NAME: &str = "the editor's server";
/// So long a client may take, before a server of ours is asked.
const MOST: Duration = Duration::from_secs(10);
/// Two answers that far apart that are the same are believed.
const APART: Duration = Duration::from_millis(500);
/// Between the first two answers; then twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(300);
/// Nothing, or a single place, may be all that a server knows so soon after it was first asked about a language.
const YOUNG: Duration = Duration::from_secs(4);
/// Before a question that failed is asked once more.
const BEFORE_ANOTHER_TRY: Duration = Duration::from_millis(200);
/// How often a question is asked again because somebody typed.
const RETRIES: u32 = 2;
const SYMBOLS: &str = "textDocument/documentSymbol";

/// An editor that lets its own language servers be asked.
#[async_trait]
pub trait EditorServers: Send + Sync {
    /// Whether it answers [`query`](Self::query).
    fn queries(&self) -> bool;
    /// Whether it answers [`diagnostics`](Self::diagnostics).
    fn diagnoses(&self) -> bool;
    /// What it counts columns in.
    fn encoding(&self) -> Encoding;
    /// The answer of its server to a request of LSP. Dropped before it is there, the request is taken back.
    async fn query(&self, method: &str, params: Value) -> Result<Value, String>;
    /// What its servers say of a document (or of all): a list of `{uri, diagnostics}`.
    async fn diagnostics(&self, uri: Option<&DocumentUri>) -> Result<Value, String>;
}

pub(crate) struct Editor {
    port: Arc<dyn EditorServers>,
    buffers: Arc<Buffers>,
    known: Mutex<Known>,
    said: Mutex<Said>,
    /// Rung when there is something to ask for in the background, or nobody is there any more.
    bell: Arc<Notify>,
}

/// What it has shown of itself.
#[derive(Debug, Default)]
struct Known {
    /// Languages of which something was answered.
    languages: BTreeSet<String>,
    /// When something was first asked about a language.
    first: BTreeMap<String, Instant>,
    /// Methods and languages of which two answers were the same.
    settled: BTreeSet<(String, String)>,
    /// Methods and languages that it does not answer.
    refused: BTreeSet<(String, String)>,
}

impl Editor {
    pub fn new(port: Arc<dyn EditorServers>, buffers: Arc<Buffers>) -> Self {
        Self {
            port,
            buffers,
            known: Mutex::default(),
            said: Mutex::default(),
            bell: Arc::default(),
        }
    }

    pub fn encoding(&self) -> Encoding {
        self.port.encoding()
    }

    /// Whether it may be asked this about a document.
    pub fn answers(&self, method: &str, document: &Snapshot) -> bool {
        let key = (method.to_owned(), language(document).to_owned());
        self.port.queries() && !self.known().refused.contains(&key)
    }

    /// Whether its diagnostics of a document count.
    pub fn diagnoses(&self, document: &Snapshot) -> bool {
        let key = (String::new(), language(document).to_owned());
        self.port.diagnoses() && !self.known().refused.contains(&key)
    }

    /// Whether what it answers to this is believed at once.
    pub fn has_settled(&self, method: &str, document: &Snapshot) -> bool {
        let key = (method.to_owned(), language(document).to_owned());
        self.known().settled.contains(&key)
    }

    fn set_settled(&self, method: &str, document: &Snapshot) {
        let key = (method.to_owned(), language(document).to_owned());
        self.known().settled.insert(key);
    }

    /// For how long it has been asked about a document's language.
    fn age(&self, document: &Snapshot) -> Duration {
        let mut known = self.known();
        let first = known.first.entry(language(document).to_owned());
        first.or_insert_with(Instant::now).elapsed()
    }

    /// Asks `method` about `document`. Not supported: a server of ours is to be asked.
    pub async fn ask(
        &self,
        method: &'static str,
        document: &Snapshot,
        patience: &Patience,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<Asked, QueryError> {
        if !self.answers(method, document) {
            return Err(not_supported(method));
        }
        let patience = Patience {
            until: patience.until.min(Instant::now() + MOST),
            cancel: patience.cancel.clone(),
        };
        let mut retries = RETRIES;
        loop {
            let texts = self.texts(document);
            let snapshot = texts
                .get(&document.uri)
                .map_or(document, |(snapshot, _)| snapshot);
            let params = params(&About {
                snapshot,
                encoding: self.encoding(),
            });
            let when = SystemTime::now();
            let answer = self.answer(method, document, params, &patience).await?;
            if self.is_of(&texts) {
                let answer = to_raw_value(&answer).map_err(|error| QueryError::Failed {
                    name: NAME.into(),
                    message: error.to_string(),
                })?;
                return Ok(Asked {
                    answer,
                    texts: Had {
                        told: Arc::new(texts),
                        when,
                    },
                });
            }
            // Of which text it is nobody knows: one of ours is told exactly that.
            if retries == 0 {
                tracing::debug!(
                    method,
                    "somebody types: a server of ours is asked this once"
                );
                return Err(not_supported(method));
            }
            retries -= 1;
        }
    }

    /// Whether no buffer is another one than it was: the answer may name places in any.
    fn is_of(&self, texts: &Texts) -> bool {
        texts.values().all(|(had, _)| {
            let newest = self.buffers.get(&had.uri);
            newest.is_none_or(|newest| newest.revision == had.revision || newest.text == had.text)
        })
    }

    /// The same, until it has answered the same twice: it gives no other sign of how much it knows.
    pub async fn ask_whole(
        &self,
        method: &'static str,
        document: &Snapshot,
        patience: &Patience,
        params: impl Fn(&About<'_>) -> Value,
    ) -> Result<Asked, QueryError> {
        self.age(document);
        let begun = Instant::now();
        let mut asked = self.ask(method, document, patience, &params).await?;
        let mut pause = FIRST_PAUSE;
        while !self.has_settled(method, document) && begun.elapsed() < MOST {
            // Where only its age is missing, that is waited for.
            let young = YOUNG.saturating_sub(self.age(document));
            let step = if young.is_zero() {
                pause
            } else {
                pause.min(young)
            };
            match patience.wait(tokio::time::sleep(step)).await {
                Ok(()) => {}
                Err(RequestError::Cancelled) => return Err(QueryError::Cancelled),
                Err(_) => break,
            }
            pause *= 2;
            let again = self.ask(method, document, patience, &params).await?;
            if is_believed(asked.answer.get(), again.answer.get(), self.age(document)) {
                self.set_settled(method, document);
            }
            asked = again;
        }
        Ok(asked)
    }

    /// An answer that counts. That there is nothing counts from an editor that has answered about the language before;
    /// from one that has not, nobody knows whether it has a server for it. What fails is tried once more: it is not asked
    /// again only if it says that it can't do it, or has no answer twice.
    async fn answer(
        &self,
        method: &str,
        document: &Snapshot,
        params: Value,
        patience: &Patience,
    ) -> Result<Value, QueryError> {
        let language = language(document);
        let mut is_first = true;
        loop {
            let (why, is_final) = match patience.wait(self.port.query(method, params.clone())).await
            {
                Err(RequestError::Cancelled) => return Err(QueryError::Cancelled),
                // There is no time for another try.
                Err(error) => {
                    tracing::debug!(method, language, %error, "the editor's server is not waited for");
                    return Err(not_supported(method));
                }
                Ok(Err(error)) => {
                    let is_final = is_unable(method, &error);
                    (error, is_final)
                }
                Ok(Ok(Value::Null)) if !self.known().languages.contains(language) => {
                    ("it has no answer".to_owned(), !is_first)
                }
                Ok(Ok(answer)) => {
                    if !answer.is_null() {
                        self.known().languages.insert(language.to_owned());
                    }
                    return Ok(answer);
                }
            };
            if is_final {
                tracing::debug!(
                    method,
                    language,
                    why,
                    "the editor's server is not asked any more"
                );
                self.refuse(method, language);
                return Err(not_supported(method));
            }
            if !is_first {
                tracing::debug!(method, language, why, "a server of ours is asked this once");
                return Err(not_supported(method));
            }
            is_first = false;
            let pause = patience.wait(tokio::time::sleep(BEFORE_ANOTHER_TRY)).await;
            if pause == Err(RequestError::Cancelled) {
                return Err(QueryError::Cancelled);
            }
        }
    }

    /// What the editor has open, as it has it now.
    fn texts(&self, document: &Snapshot) -> Texts {
        let mut texts: BTreeMap<_, _> = self
            .buffers
            .all()
            .into_iter()
            .map(|snapshot| {
                let version = snapshot.version.unwrap_or_default();
                (snapshot.uri.clone(), (snapshot, version))
            })
            .collect();
        texts
            .entry(document.uri.clone())
            .or_insert_with(|| (document.clone(), document.version.unwrap_or_default()));
        texts
    }

    /// Whether it has a server for a document's language, found out by a question that every server answers.
    async fn has_server(&self, document: &Snapshot, patience: &Patience) -> bool {
        if self.known().languages.contains(language(document)) {
            return true;
        }
        let params = json!({"textDocument": {"uri": document.uri.as_str()}});
        self.answers(SYMBOLS, document)
            && self
                .answer(SYMBOLS, document, params, patience)
                .await
                .is_ok()
    }

    fn refuse(&self, method: &str, language: &str) {
        let key = (method.to_owned(), language.to_owned());
        self.known().refused.insert(key);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.bell.notify_one();
    }
}

/// Whether the editor says that it can't do this at all. It gives the code of an error after its message.
fn is_unable(method: &str, error: &str) -> bool {
    let coded = error
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("));
    let coded = coded.and_then(|(message, code)| Some((message, code.parse().ok()?)));
    let (message, code) = coded.unwrap_or((error, 0));
    is_unsupported(
        method,
        &RpcError {
            code,
            message: message.to_owned(),
        },
    )
}

/// Whether two answers, one after the other, are one that can be believed from a server that has been asked for so long.
fn is_believed(last: &str, next: &str, age: Duration) -> bool {
    last == next && (age >= YOUNG || !is_little(next))
}

/// Nothing, or a single place.
fn is_little(answer: &str) -> bool {
    match serde_json::from_str(answer) {
        Ok(Value::Array(all)) => all.len() < 2,
        Ok(Value::Object(one)) => {
            one.is_empty() || one.contains_key("uri") || one.contains_key("targetUri")
        }
        Ok(Value::Null) => true,
        _ => false,
    }
}

fn not_supported(method: &str) -> QueryError {
    QueryError::NotSupported {
        name: NAME.into(),
        method: method.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_believed() {
        let (young, old) = (Duration::from_secs(3), Duration::from_secs(5));
        let place = r#"{"uri":"file:///a","range":{}}"#;
        let one = format!("[{place}]");
        let two = format!("[{place},{place}]");
        for (last, next, age, expected) in [
            ("null", "null", young, false),
            ("[]", "[]", young, false),
            ("[]", "[]", old, true),
            (&one, &one, young, false),
            (place, place, young, false),
            (place, place, old, true),
            (&two, &two, young, true),
            (&two, &one, old, false),
            (r#"{"contents":"x"}"#, r#"{"contents":"x"}"#, young, true),
        ] {
            assert_eq!(
                is_believed(last, next, age),
                expected,
                "{last} {next} {age:?}"
            );
        }
    }

    #[test]
    fn not_being_able_is_told_from_having_failed() {
        let method = "textDocument/hover";
        for (error, expected) in [
            ("no such method (-32601)", true),
            ("Unhandled method textDocument/hover (-32603)", true),
            ("not supported", true),
            ("content modified (-32801)", false),
            ("cancelled (-32800)", false),
            ("it crashed (-32603)", false),
            ("the client did not answer in time", false),
        ] {
            assert_eq!(is_unable(method, error), expected, "{error}");
        }
    }
}
