//! How to get more than a language server's own fixes, for those whose problem is left: which model to choose of those
//! that there are here. Servers on this machine are looked for while the run goes on, so that it waits for nothing.

use std::sync::OnceLock;

use futures::future::{BoxFuture, FutureExt, Shared};
use model::{Catalogue, LocalServer, ModelError, QUICKFIX};
use tokio_util::sync::CancellationToken;

/// How many models of one server are named.
const NAMED: usize = 3;

/// What there is, looked for once.
pub struct More {
    catalogue: Catalogue,
    found: OnceLock<Shared<BoxFuture<'static, Vec<LocalServer>>>>,
}

impl More {
    pub fn new(catalogue: Catalogue) -> Self {
        Self {
            catalogue,
            found: OnceLock::new(),
        }
    }

    /// Begins to look, unless it did.
    pub fn look(&self) {
        drop(self.searching());
    }

    /// The words, at the end of what is said.
    pub async fn words(&self, cancel: &CancellationToken) -> Result<String, ModelError> {
        // A key that is there comes first: nothing has to be looked for.
        let keyed = self.catalogue.default_model();
        if keyed != QUICKFIX {
            return Ok(words(Some(&keyed), &[]));
        }
        let found = tokio::select! {
            () = cancel.cancelled() => return Err(ModelError::Cancelled),
            found = self.searching() => found,
        };
        Ok(words(None, &found))
    }

    fn searching(&self) -> Shared<BoxFuture<'static, Vec<LocalServer>>> {
        let begin = || {
            let catalogue = self.catalogue.clone();
            let search = tokio::spawn(async move { catalogue.local_servers().await });
            search.map(Result::unwrap_or_default).boxed().shared()
        };
        self.found.get_or_init(begin).clone()
    }
}

/// `keyed` is the model to use if there is a key.
fn words(keyed: Option<&str>, found: &[LocalServer]) -> String {
    const FOR_MORE: &str = "For more than a language server's own fixes, ";
    const KEYS: &str = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY";
    if let Some(model) = keyed {
        return format!(
            "{FOR_MORE}set `model = \"{model}\"` in the configuration: its key is there."
        );
    }
    let here: Vec<String> = found.iter().filter_map(here).collect();
    match here.as_slice() {
        [] => format!(
            "{FOR_MORE}{KEYS}, or name a local model in the configuration (`model = \"ollama/…\"`)."
        ),
        here => format!("{FOR_MORE}{}; or {KEYS}.", here.join("; or ")),
    }
}

/// How to use a server that runs here.
fn here(server: &LocalServer) -> Option<String> {
    let mut ids = server.ids();
    let first = ids.next()?;
    let rest: Vec<String> = ids.collect();
    let name = match server.name {
        "a server" => format!("a server at {}", server.base_url),
        name => name.to_owned(),
    };
    let also = match (rest.len(), rest.get(..NAMED).unwrap_or(&rest)) {
        (0, _) => String::new(),
        (all, some) if all > some.len() => {
            format!(
                ", and also has {} and {} others",
                some.join(", "),
                all - some.len()
            )
        }
        (_, some) => format!(", and also has {}", some.join(", ")),
    };
    Some(format!(
        "set `model = \"{first}\"` in the configuration ({name} runs here{also})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_here_is_named_with_how_to_use_it() {
        let server = |name, provider: &str, models: &[&str]| LocalServer {
            name,
            provider: provider.to_owned(),
            base_url: "http://localhost:8080/v1".to_owned(),
            models: models.iter().map(|&model| model.to_owned()).collect(),
        };
        let ollama = server(
            "Ollama",
            "ollama",
            &[
                "mxbai-embed-large:latest",
                "qwen3-coder:30b",
                "a",
                "b",
                "c",
                "d",
                "e",
            ],
        );
        let other = server("a server", "llamacpp", &["qwen.gguf"]);
        let keys = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY";
        for (keyed, found, rest) in [
            (
                None,
                vec![],
                format!(
                    "{keys}, or name a local model in the configuration (`model = \"ollama/…\"`)."
                ),
            ),
            (
                None,
                vec![other.clone()],
                format!(
                    "set `model = \"llamacpp/qwen.gguf\"` in the configuration (a server at http://localhost:8080/v1 runs here); or {keys}."
                ),
            ),
            (
                None,
                vec![ollama, other],
                format!(
                    "set `model = \"ollama/qwen3-coder:30b\"` in the configuration (Ollama runs here, and also has ollama/a, ollama/b, \
                     ollama/c and 2 others); or set `model = \"llamacpp/qwen.gguf\"` in the configuration (a server at \
                     http://localhost:8080/v1 runs here); or {keys}."
                ),
            ),
            (
                Some("openai/gpt-5"),
                vec![],
                "set `model = \"openai/gpt-5\"` in the configuration: its key is there.".to_owned(),
            ),
        ] {
            let wanted = format!("For more than a language server's own fixes, {rest}");
            assert_eq!(words(keyed, &found), wanted);
        }
        assert_eq!(
            here(&server("Ollama", "ollama", &["nomic-embed-text"])),
            None
        );
    }
}
