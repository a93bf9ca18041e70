use super::*;
use crate::LocalServer;

mod keys;
mod servers;

fn catalogue(config: &str, environment: &[(&'static str, &'static str)]) -> Catalogue {
    let user = toml::from_str(config).unwrap();
    let environment: BTreeMap<_, _> = environment.iter().copied().collect();
    Catalogue::with_environment(user, move |name| {
        environment.get(name).map(|&value| value.to_owned())
    })
}

const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "sk-openai");
const ANTHROPIC: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-anthropic");
const OPENROUTER: (&str, &str) = ("OPENROUTER_API_KEY", "sk-router");

#[test]
fn the_default_is_the_first_that_has_a_key_and_can_be_spoken_to() {
    let check = |config: &str, environment: &[(&'static str, &'static str)], wanted: &str| {
        assert_eq!(
            catalogue(config, environment).default_model(),
            wanted,
            "{config} {environment:?}"
        );
    };
    check("", &[], QUICKFIX);
    check("", &[ANTHROPIC], "anthropic/claude-sonnet-5-5");
    check(
        "",
        &[OPENROUTER, OPENAI, ANTHROPIC],
        "anthropic/claude-sonnet-5-5",
    );
    check("", &[OPENAI, OPENROUTER], "openai/gpt-6.2-sol");
    check(
        "",
        &[("OPENAI_API_KEY", "  "), OPENROUTER],
        "openrouter/anthropic/claude-sonnet-5.5",
    );
    check(
        "anthropic.api = 'openai-chat'",
        &[ANTHROPIC, OPENAI],
        "anthropic/claude-sonnet-5-5",
    );
    check(
        "openai.api_key_command = ['pass']",
        &[],
        "openai/gpt-6.2-sol",
    );
    // What takes tools there.
    check("openai.api = 'openai-chat'", &[OPENAI], "openai/gpt-5");
    check(
        "openai.base_url = 'https://gateway.example/v1'",
        &[OPENAI],
        "openai/gpt-5",
    );
    check("openai.api_key_env = 'MY_KEY'", &[OPENAI], QUICKFIX);
    check(
        "openai.api_key_env = 'MY_KEY'",
        &[("MY_KEY", "x")],
        "openai/gpt-6.2-sol",
    );
    check(
        "",
        &[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")],
        QUICKFIX,
    );
    for (key, wanted) in [
        ("GEMINI_API_KEY", "google/gemini-4-hydrogen"),
        ("MISTRAL_API_KEY", "mistral/mistral-medium-3.5"),
        ("DEEPSEEK_API_KEY", "deepseek/deepseek-v4-pro"),
    ] {
        check("", &[(key, "x")], wanted);
        check(
            "",
            &[(key, "x"), OPENROUTER],
            "openrouter/anthropic/claude-sonnet-5.5",
        );
    }
}

#[test]
fn the_states_of_providers_show_no_key() {
    let config = "openai.api_key_command = ['pass', 'sk-no']\nmine.base_url = 'nonsense'\nmine.api_key_env = 'MINE'\n\
                  local.base_url = 'http://localhost:1/v1'\nlocal.api_key_env = 'LOCAL'";
    let states = catalogue(config, &[ANTHROPIC]).provider_states();
    let brief: Vec<_> = states
        .iter()
        .map(|state| {
            (
                state.name.as_str(),
                state.key.clone(),
                state.problem.is_some(),
            )
        })
        .collect();
    assert_eq!(
        brief,
        [
            (
                "anthropic",
                KeySource::Variable("ANTHROPIC_API_KEY".into()),
                false
            ),
            ("openai", KeySource::Command, false),
            ("openrouter", KeySource::Missing, true),
            ("ollama", KeySource::Unneeded, false),
            ("llamacpp", KeySource::Unneeded, false),
            ("google", KeySource::Missing, true),
            ("mistral", KeySource::Missing, true),
            ("deepseek", KeySource::Missing, true),
            ("local", KeySource::Unneeded, false),
            ("mine", KeySource::Missing, true),
        ]
    );
    let shown = format!("{states:?}");
    assert!(shown.contains("OPENROUTER_API_KEY"), "{shown}");
    assert!(!shown.contains("sk-"), "{shown}");
}

#[test]
fn a_name_resolves_to_its_provider_and_facts() {
    let local = "local.base_url = 'http://localhost:8080/v1'\nlocal.models.m = { context = 9, max_output = 5 }";
    let over = "openai.models.gpt-5.cost = { input = 7.0, output = 8.0 }";
    for (config, environment, id, context, input) in [
        ("", OPENAI, "openai/gpt-5", Some(400_000), Some(1.25)),
        (over, OPENAI, "openai/gpt-5", Some(400_000), Some(7.0)),
        ("", OPENAI, "openai/who-knows", None, None),
        (
            "",
            ANTHROPIC,
            "anthropic/claude-sonnet-4-5",
            Some(200_000),
            Some(3.0),
        ),
        (
            "",
            OPENROUTER,
            "openrouter/anthropic/claude-sonnet-4.5",
            Some(200_000),
            Some(3.0),
        ),
        (local, OPENAI, "local/m", Some(9), None),
        (local, OPENAI, "local/org/other", None, None),
        ("", OPENAI, "ollama/qwen2.5-coder", Some(32_768), Some(0.0)),
        (
            "",
            ANTHROPIC,
            "anthropic/claude-sonnet-4-5-20250929",
            Some(200_000),
            Some(3.0),
        ),
        (
            over,
            OPENAI,
            "openai/gpt-5-2025-08-07",
            Some(400_000),
            Some(7.0),
        ),
    ] {
        let provider = catalogue(config, &[environment])
            .resolve(id)
            .unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(provider.id(), id);
        assert_eq!(
            (
                provider.facts().context,
                provider.facts().cost.map(|cost| cost.input)
            ),
            (context, input),
            "{id}"
        );
    }
}

#[test]
fn what_the_user_says_of_a_model_lies_over_what_is_known_of_it() {
    let config = "openai.models.gpt-5 = { tools = false, caching = false, context = 9 }\nopenai.models.new = { images = true }";
    let facts = |id: &str| catalogue(config, &[OPENAI]).resolve(id).unwrap().facts();
    let abilities =
        |facts: ModelConfig| [facts.tools, facts.images, facts.reasoning, facts.caching];
    let known = facts("openai/gpt-5");
    assert_eq!(
        abilities(known),
        [Some(false), Some(true), Some(true), Some(false)]
    );
    assert_eq!((known.context, known.max_output), (Some(9), Some(128_000)));
    let new = facts("openai/new");
    assert_eq!(abilities(new), [None, Some(true), None, None]);
    assert_eq!((new.context, new.max_output), (None, None));
}

#[test]
fn what_cannot_be_resolved_says_what_to_do() {
    for (config, environment, id, wanted) in [
        (
            "",
            OPENAI,
            "opnai/gpt-5",
            "there is no provider “opnai”; known are openai, ",
        ),
        (
            "mine.base_url = 'http://x/v1'",
            OPENAI,
            "mimne/x",
            "there is no provider “mimne”; known are mine, ",
        ),
        (
            "",
            OPENAI,
            "builtin/quickfx",
            "there is no model “builtin/quickfx”. Did you mean builtin/quickfix?",
        ),
        (
            "",
            OPENAI,
            "bultin/quickfix",
            "there is no model “bultin/quickfix”. Did you mean builtin/quickfix?",
        ),
        (
            "",
            OPENAI,
            "builtin/gpt-5",
            "there is no model “builtin/gpt-5”. Did you mean builtin/quickfix?",
        ),
        (
            "",
            OPENAI,
            "quickfix",
            "“quickfix” is no model's name: write provider/model, e.g. builtin/quickfix",
        ),
        (
            "",
            OPENAI,
            "gpt-5",
            "“gpt-5” is no model's name: write provider/model, e.g. openai/gpt-5",
        ),
        (
            "",
            OPENAI,
            "ollama",
            "“ollama” is no model's name: write provider/model, e.g. ollama/qwen3-coder",
        ),
        (
            "",
            OPENAI,
            "openai/",
            "“openai/” is no model's name: write provider/model, e.g. openai/gpt-6.2-sol",
        ),
        (
            "openai.api = 'openai-chat'",
            OPENAI,
            "openai/",
            "“openai/” is no model's name: write provider/model, e.g. openai/gpt-5",
        ),
        (
            "",
            OPENAI,
            "claude-sonnet-4-5-20250929",
            "“claude-sonnet-4-5-20250929” is no model's name: write provider/model, e.g. anthropic/claude-sonnet-4-5-20250929",
        ),
        ("", OPENAI, "", "“” is no model's name"),
        (
            "",
            ANTHROPIC,
            "openai/gpt-5",
            "openai needs a key: set OPENAI_API_KEY in the environment that the editor is started from, or api_key_command in [providers.openai], or run `copydesk login openai`",
        ),
        (
            "x = { base_url = 'http://h/v1', api_key_env = 'X_KEY' }",
            OPENAI,
            "x/m",
            "x needs a key: set X_KEY",
        ),
        // The key itself, as some write there.
        (
            "x = { base_url = 'http://h/v1', api_key_env = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc' }",
            OPENAI,
            "x/m",
            "[providers.x] api_key_env: must be the name of a variable of the environment (capital letters, digits and _) that holds the key, never the key itself",
        ),
        (
            "",
            OPENAI,
            "anthropic/claude-sonnet-4-5",
            "anthropic needs a key: set ANTHROPIC_API_KEY in the environment",
        ),
        (
            "x.api = 'openai-chat'",
            OPENAI,
            "x/m",
            "[providers.x] base_url: is missing",
        ),
        (
            "x.base_url = 'localhost'",
            OPENAI,
            "x/m",
            "[providers.x] base_url: is no address",
        ),
        (
            "x.base_url = 'localhost:80'",
            OPENAI,
            "x/m",
            "[providers.x] base_url: must begin with http",
        ),
        (
            "x.base_url = 'file:///v1'",
            OPENAI,
            "x/m",
            "[providers.x] base_url: must begin with http",
        ),
    ] {
        match catalogue(config, &[environment]).resolve(id) {
            Ok(_) => panic!("{id} resolved"),
            Err(error) => assert!(error.to_string().starts_with(wanted), "{id}: {error}"),
        }
    }
    let error = catalogue(
        "",
        &[("OPENAI_API_KEY", "x"), ("OPENAI_BASE_URL", "nowhere")],
    )
    .resolve("openai/x")
    .err()
    .unwrap();
    assert!(
        error
            .to_string()
            .starts_with("[providers.openai] OPENAI_BASE_URL: is no address"),
        "{error}"
    );
}

#[test]
fn openai_itself_is_asked_in_responses_and_what_stands_in_its_place_in_chat() {
    let variable = |url| Some(("OPENAI_BASE_URL", url));
    for (config, environment, name, wanted) in [
        ("", None, "openai", Api::OpenaiResponses),
        (
            "",
            variable("https://eu.api.openai.com/v1"),
            "openai",
            Api::OpenaiResponses,
        ),
        (
            "openai.headers.x = 'y'",
            variable("https://api.openai.com/v1/"),
            "openai",
            Api::OpenaiResponses,
        ),
        (
            "",
            variable("http://127.0.0.1:9/v1"),
            "openai",
            Api::OpenaiChat,
        ),
        (
            "openai.base_url = 'https://gateway.example/v1'",
            None,
            "openai",
            Api::OpenaiChat,
        ),
        (
            "openai.base_url = 'https://notapi.openai.com.example/v1'",
            None,
            "openai",
            Api::OpenaiChat,
        ),
        (
            "openai.base_url = 'nonsense'",
            None,
            "openai",
            Api::OpenaiChat,
        ),
        (
            "openai = { api = 'openai-responses', base_url = 'https://gateway.example/v1' }",
            None,
            "openai",
            Api::OpenaiResponses,
        ),
        (
            "openai.api = 'openai-chat'",
            None,
            "openai",
            Api::OpenaiChat,
        ),
        (
            "x.base_url = 'https://api.openai.com/v1'",
            None,
            "x",
            Api::OpenaiChat,
        ),
        ("", None, "openrouter", Api::OpenaiChat),
    ] {
        let catalogue = catalogue(config, environment.as_slice());
        let api = catalogue.entry(name).unwrap().api(&catalogue);
        assert_eq!(api, wanted, "{config} {environment:?}");
    }
}

#[test]
fn the_environment_lies_over_the_configured_address() {
    for (config, environment, name, wanted) in [
        ("", None, "openai", "https://api.openai.com/v1"),
        (
            "openai.base_url = 'http://a/v1'",
            None,
            "openai",
            "http://a/v1",
        ),
        (
            "openai.base_url = 'http://a/v1'",
            Some(("OPENAI_BASE_URL", "http://b/v1")),
            "openai",
            "http://b/v1",
        ),
        (
            "anthropic.api = 'openai-chat'",
            None,
            "anthropic",
            "https://api.anthropic.com/v1",
        ),
        (
            "anthropic.api = 'openai-chat'",
            Some(("ANTHROPIC_BASE_URL", "http://b/")),
            "anthropic",
            "http://b/v1",
        ),
        (
            "anthropic.api = 'openai-chat'",
            Some(("ANTHROPIC_BASE_URL", "http://b/v1")),
            "anthropic",
            "http://b/v1",
        ),
        (
            "",
            Some(("ANTHROPIC_BASE_URL", "http://b")),
            "anthropic",
            "http://b/",
        ),
        (
            "",
            Some(("ANTHROPIC_BASE_URL", "http://b/v1/")),
            "anthropic",
            "http://b/",
        ),
        (
            "x = { api = 'anthropic', base_url = 'http://h/proxy/v1' }",
            None,
            "x",
            "http://h/proxy",
        ),
    ] {
        let catalogue = catalogue(config, environment.as_slice());
        let base = catalogue.entry(name).unwrap().base(&catalogue).unwrap();
        assert_eq!(base.as_str(), wanted, "{config} {environment:?}");
    }
}

#[test]
fn the_list_says_why_a_model_cannot_be_asked() {
    let ollama = LocalServer {
        name: "Ollama",
        provider: "ollama".to_owned(),
        base_url: "http://localhost:11434/v1".to_owned(),
        models: ["qwen3-coder:latest", "gpt-oss:20b"]
            .map(str::to_owned)
            .to_vec(),
    };
    let config = "ollama.models.mine = {}\nx = { base_url = 'http://h/v1', models.m = {} }";
    let check = |local: &[LocalServer], wanted: &[(&str, Option<&str>)]| {
        let models = catalogue(config, &[OPENAI]).models(local);
        for (id, part) in wanted {
            let model = models.iter().find(|model| model.id == *id);
            let why = model.unwrap_or_else(|| panic!("{id}")).why.as_deref();
            match part {
                None => assert_eq!(why, None, "{id}"),
                Some(part) => assert!(why.unwrap().contains(part), "{id}: {why:?}"),
            }
        }
        let is_sound = |model: &ModelInfo| model.available == model.why.is_none();
        assert!(models.iter().all(is_sound));
        assert!(models.is_sorted_by_key(|model| !model.available));
        let mut ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
        ids.sort_unstable();
        assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    };
    let always = [
        ("openai/gpt-5", None),
        ("x/m", None),
        (QUICKFIX, None),
        ("anthropic/claude-sonnet-4-5", Some("ANTHROPIC_API_KEY")),
        ("openrouter/openai/gpt-5", Some("OPENROUTER_API_KEY")),
    ];
    check(&[], &always);
    check(
        &[],
        &[
            ("ollama/mine", Some("needs Ollama to run here")),
            ("ollama/qwen2.5-coder", Some("`ollama pull qwen2.5-coder`")),
        ],
    );
    check(std::slice::from_ref(&ollama), &always);
    check(
        &[ollama],
        &[
            ("ollama/qwen3-coder", None),
            ("ollama/gpt-oss:20b", None),
            (
                "ollama/gpt-oss",
                Some("Ollama runs here and does not have it: `ollama pull gpt-oss`"),
            ),
            ("ollama/mine", Some("does not have it")),
        ],
    );
}

#[test]
fn the_nearest_names_of_one_that_is_wrong() {
    for (given, nearest) in [
        ("opnai/gpt-5", "openai/gpt-5"),
        ("gpt-5", "openai/gpt-5"),
        ("claude-sonet-5-5", "anthropic/claude-sonnet-5-5"),
        ("quickfix", QUICKFIX),
    ] {
        let found = catalogue("", &[]).nearest(given);
        assert_eq!(
            found.first().map(String::as_str),
            Some(nearest),
            "{given}: {found:?}"
        );
        assert!(found.len() <= 3, "{found:?}");
    }
    assert_eq!(catalogue("", &[]).nearest("&&&"), [""; 0]);
}

#[test]
fn a_whole_table_reads_and_is_shown_without_its_keys() {
    let config = r#"
        [anthropic]
        api = "anthropic"
        base_url = "https://api.anthropic.com"
        api_key_env = "ANTHROPIC_API_KEY"
        headers = { x-team = "secret-team" }
        unknown = 1
        [anthropic.models."claude-sonnet-4-5"]
        context = 200000
        max_output = 16000
        cost = { input = 3.0, output = 15.0, cache_read = 0.3, cache_write = 3.75 }
    "#;
    let user: BTreeMap<String, ProviderConfig> = toml::from_str(config).unwrap();
    assert!(!format!("{user:?}").contains("secret-team"));
    let facts = user["anthropic"].models["claude-sonnet-4-5"];
    assert_eq!(
        (facts.context, facts.max_output),
        (Some(200_000), Some(16_000))
    );
    let usage = crate::Usage {
        input: 1_000_000,
        output: 100_000,
        cache_read: 1_000_000,
        cache_write: 0,
    };
    assert!((facts.cost.unwrap().of(&usage) - 4.8).abs() < 1e-9);
}

#[test]
fn a_request_with_a_long_input_has_the_price_of_one() {
    let cost = "{ input = 1.0, output = 5.0, cache_read = 0.1, cache_write = 1.25, \
                long = { above = 1000, input = 2.0, output = 7.0, cache_read = 0.2 } }";
    let cost: Cost =
        toml::from_str::<BTreeMap<String, Cost>>(&format!("cost = {cost}")).unwrap()["cost"];
    for (input, output, cache_read, cache_write, millionths) in [
        (400, 100, 500, 100, 400.0 + 500.0 + 50.0 + 125.0),
        (401, 100, 500, 100, 802.0 + 700.0 + 100.0 + 200.0),
        (0, 0, 1001, 0, 200.2),
        (0, 2000, 0, 0, 10_000.0),
    ] {
        let usage = crate::Usage {
            input,
            output,
            cache_read,
            cache_write,
        };
        let difference = cost.of(&usage) - millionths / 1e6;
        assert!(difference.abs() < 1e-12, "{usage:?}: {difference}");
    }
    assert!(
        cost.of(&crate::Usage {
            input: u64::MAX,
            cache_read: u64::MAX,
            ..crate::Usage::default()
        })
        .is_finite()
    );
}
