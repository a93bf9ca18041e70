//! Where a key is from, and who needs none.

use super::*;

#[test]
fn a_key_comes_from_what_the_user_names_before_what_is_built_in() {
    let set = |text: &str| Source::Set(Secret::new(text));
    let command = || Source::Command(vec!["pass".into()]);
    for (config, environment, name, wanted) in [
        ("", vec![OPENAI], "openai", set("sk-openai")),
        ("", vec![], "openai", Source::Missing),
        (
            "openai.api_key_command = ['pass']",
            vec![OPENAI],
            "openai",
            command(),
        ),
        (
            "openai = { api_key_command = ['pass'], api_key_env = 'MINE' }",
            vec![("MINE", "m")],
            "openai",
            set("m"),
        ),
        (
            "openai = { api_key_command = ['pass'], api_key_env = 'MINE' }",
            vec![OPENAI],
            "openai",
            command(),
        ),
        (
            "openai.headers.Api-Key = 'x'",
            vec![],
            "openai",
            Source::Unneeded,
        ),
        ("", vec![], "ollama", Source::Unneeded),
        ("x.base_url = 'http://x/v1'", vec![], "x", Source::Unneeded),
    ] {
        let catalogue = catalogue(config, &environment);
        assert_eq!(
            catalogue.entry(name).unwrap().key_source(&catalogue),
            wanted,
            "{config} {environment:?}"
        );
    }
}

/// A keyring that knows some providers, and is never to be asked.
struct Kept(&'static [&'static str]);

impl crate::Keyring for Kept {
    fn has(&self, provider: &str) -> bool {
        self.0.contains(&provider)
    }

    fn key(&self, provider: &str) -> Result<Secret, String> {
        panic!("asked for the key of {provider}")
    }
}

#[test]
fn the_keyring_comes_last_and_is_not_asked_by_those_who_only_look() {
    let config = "openai.api_key_command = ['pass']\nmine.base_url = 'http://h/v1'\nother.base_url = 'http://h/v1'";
    let kept = Kept(&["anthropic", "openai", "openrouter", "mine", "google"]);
    let catalogue = |environment| catalogue(config, environment);
    let keyed = catalogue(&[ANTHROPIC]).with_keyring(Some(Arc::new(kept)));
    for (provider, wanted) in [
        ("anthropic", KeySource::Variable("ANTHROPIC_API_KEY".into())),
        ("openai", KeySource::Command),
        ("openrouter", KeySource::Keyring),
        ("mine", KeySource::Keyring),
        ("google", KeySource::Keyring),
        ("other", KeySource::Unneeded),
        ("mistral", KeySource::Missing),
    ] {
        assert_eq!(keyed.key_source(provider).unwrap(), wanted, "{provider}");
    }
    assert!(keyed.key_source("nobody").is_err());
    keyed.provider_states();
    assert!(keyed.resolve("openrouter/x").is_ok());
    let models = keyed.models(&[]);
    let router = |model: &&ModelInfo| model.id.starts_with("openrouter/");
    assert!(models.iter().filter(router).all(|model| model.available));
    let keyed = super::Catalogue::with_environment(BTreeMap::new(), |_| None);
    let keyed = keyed.with_keyring(Some(Arc::new(Kept(&["deepseek"]))));
    assert_eq!(keyed.default_model(), "deepseek/deepseek-v4-pro");
}

#[test]
fn a_server_on_this_machine_needs_no_key() {
    let catalogue = catalogue("", &[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")]);
    assert!(catalogue.resolve("openai/anything").is_ok());
}
