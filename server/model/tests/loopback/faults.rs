//! Everything that goes wrong with a provider, in each of the three formats: what is waited for and told meanwhile, what is asked again
//! and what is not, what is made of half an answer, and how soon a cancel ends it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::{FutureExt, StreamExt, stream};
use model::{
    Api, EventStream, ModelError, Patience, Provider, ProviderConfig, Resilient, StreamEvent, Usage,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::script::{Call, Ends, Said, Turn};
use crate::server::{Answer, Seen, chunked, chunks, server, status};
use crate::spoken::{FORMATS, Manner, events, streamed};
use crate::{KEY, provider_of, request};

/// What is told of a server that is asked with patience, in words: `hello`, `[notice]`, `again`, `call t`, `End`, `error …`. Waits pass as
/// fast as they are told; that nothing is asked before they have passed is looked at as well.
async fn told(api: Api, answers: Vec<Answer>) -> Vec<String> {
    let asked = answers.len();
    let (url, mut sees) = server(answers).await;
    let clock = Clock::stopped();
    let mut steps = steps(api, &url, &CancellationToken::new());
    let mut told = Vec::new();
    let mut requests = 0;
    let mut wait = None;
    loop {
        let mut next = Box::pin(steps.next());
        if let Some(seconds) = wait.take() {
            let before = requests + seen(&mut sees);
            assert!(next.as_mut().now_or_never().is_none(), "{api:?}: {told:?}");
            clock.pass(Duration::from_secs(seconds - 1)).await;
            assert!(next.as_mut().now_or_never().is_none(), "{api:?}: {told:?}");
            requests = before + seen(&mut sees);
            assert_eq!(requests, before, "{api:?}: asked too soon: {told:?}");
            // What was said was rounded.
            clock.pass(Duration::from_millis(1500)).await;
        }
        let Some(step) = next.await else { break };
        if let Ok(StreamEvent::Notice(notice)) = &step
            && let Some((_, wanted)) = notice.split_once("next try in ")
        {
            let (seconds, _) = wanted.split_once(" s").unwrap();
            wait = Some(seconds.parse::<u64>().unwrap());
        }
        told.extend(shown(step));
    }
    assert_eq!(requests + seen(&mut sees), asked, "{api:?}: {told:?}");
    told
}

/// All that is told, from the moment at which it is asked.
fn steps(api: Api, url: &str, cancel: &CancellationToken) -> EventStream {
    let model = Resilient::new(provider_of(api, "test", url), None, Patience::default());
    let cancel = cancel.clone();
    let asking = async move { model.stream(&request(), &cancel).await.unwrap() };
    stream::once(asking).flatten().boxed()
}

/// How many requests came of late.
fn seen(sees: &mut UnboundedReceiver<Seen>) -> usize {
    let mut requests = 0;
    while let Ok(seen) = sees.try_recv() {
        requests += usize::from(matches!(seen, Seen::Request(_)));
    }
    requests
}

fn shown(step: Result<StreamEvent, ModelError>) -> Option<String> {
    Some(match step {
        Ok(StreamEvent::Text(text)) => text,
        Ok(StreamEvent::Notice(notice)) => format!("[{notice}]"),
        Ok(StreamEvent::Again) => "again".to_owned(),
        Ok(StreamEvent::ToolCall(call)) => format!("call {}", call.name),
        Ok(StreamEvent::Done(stop)) => format!("{stop:?}"),
        Ok(StreamEvent::Usage(_)) => return None,
        Ok(other) => format!("{other:?}"),
        Err(error) => format!("error {error}"),
    })
}

fn turn(said: Vec<Said>, ends: Ends) -> Turn {
    Turn {
        said,
        usage: Usage::default(),
        ends,
    }
}

fn hello() -> Turn {
    turn(vec![Said::Text("hello".to_owned())], Ends::Prompt(""))
}

fn look_and_call() -> Turn {
    let call = Call {
        id: "c".to_owned(),
        name: "t",
        written: r#"{"path":"a.rs"}"#.to_owned(),
        input: Value::Null,
        malformed: None,
        repaired: None,
        result: (true, String::new()),
    };
    turn(
        vec![Said::Text("I look.".to_owned()), Said::Call(call)],
        Ends::Calls,
    )
}

fn well(api: Api) -> Answer {
    let body = streamed(api, &hello(), Manner::default());
    Answer::Raw(chunks(&body, []))
}

/// The events of the answer before, or up to, the first that holds this text.
fn up_to(api: Api, turn: &Turn, text: &str, and_it: bool) -> Vec<String> {
    let manner = Manner {
        piece: 100,
        ..Manner::default()
    };
    let all: Vec<_> = events(api, turn, manner)
        .into_iter()
        .map(|(_, data)| data.to_string())
        .collect();
    let at = all.iter().position(|event| event.contains(text)).unwrap();
    all[..at + usize::from(and_it)].to_vec()
}

fn cut(events: &[String]) -> Answer {
    Answer::Cut(begun(events))
}

fn begun(events: &[String]) -> String {
    chunked(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn refusal(api: Api, line: &str, headers: &str, kind: &str, message: &str) -> Answer {
    Answer::Bytes(status(
        line,
        headers,
        &error(api, kind, message).to_string(),
    ))
}

/// As each provider says it.
fn error(api: Api, kind: &str, message: &str) -> Value {
    match api {
        Api::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
        Api::OpenaiResponses | Api::OpenaiChat => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
        }
    }
}

/// The same in the middle of an answer that had begun well.
fn error_event(api: Api, code: &str, message: &str) -> String {
    let event = match api {
        Api::OpenaiResponses => json!({"type": "error", "code": code, "message": message}),
        Api::Anthropic | Api::OpenaiChat => error(api, code, message),
    };
    event.to_string()
}

#[tokio::test]
async fn a_rate_limit_is_waited_out_as_long_as_the_provider_asks_for() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(13));
    for api in FORMATS {
        for (headers, message) in [
            ("retry-after: 12\r\n", "slow down"),
            ("retry-after-ms: 12000\r\n", "slow down"),
            ("retry-after: 3\r\nretry-after-ms: 12000\r\n", "slow down"),
            (&*format!("retry-after: {date}\r\n"), "slow down"),
            ("", "Limit 30000. Please try again in 12s. Visit https://x."),
        ] {
            let kind = "rate_limit_error";
            let limited = refusal(api, "429 Too Many Requests", headers, kind, message);
            let told = told(api, vec![limited, well(api)]).await;
            let notice = |seconds: u32| {
                format!("[rate limited by test (429): next try in {seconds} s (4 tries left)]")
            };
            // A date has no halves of seconds, and some of its time may have gone by.
            let due = match headers.contains("GMT") {
                true => vec![notice(12), notice(13), notice(11), notice(10)],
                false => vec![notice(12)],
            };
            assert!(due.contains(&told[0]), "{api:?} {headers} {told:?}");
            assert_eq!(told[1..], ["hello", "End"], "{api:?} {headers}");
        }
        // An error inside of an answer has no headers.
        let mut events = up_to(api, &look_and_call(), "I look.", true);
        events.push(error_event(api, "rate_limit_error", "Try again in 12 s."));
        let told = told(
            api,
            vec![Answer::Bytes(begun(&events) + "0\r\n\r\n"), well(api)],
        )
        .await;
        let due = [
            "I look.",
            "[rate limited by test (429): next try in 12 s (4 tries left)]",
            "again",
            "hello",
            "End",
        ];
        assert_eq!(told, due, "{api:?}");
    }
}

#[tokio::test]
async fn one_that_is_overloaded_is_asked_again_until_it_is_not() {
    for api in FORMATS {
        let over = || refusal(api, "529 Overloaded", "", "overloaded_error", "Overloaded");
        let told = told(api, vec![over(), over(), over(), well(api)]).await;
        for (at, notice) in told[..3].iter().enumerate() {
            let begins = "[test is overloaded or down (529): next try in ";
            let left = ["(4 tries left)]", "(3 tries left)]", "(2 tries left)]"][at];
            assert!(
                notice.starts_with(begins) && notice.ends_with(left),
                "{told:?}"
            );
        }
        assert_eq!(told[3..], ["hello", "End"], "{api:?}");
    }
}

#[tokio::test]
async fn whatever_may_pass_is_asked_again_however_it_is_said() {
    let page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    for api in FORMATS {
        for (line, body, says) in [
            ("408 Request Timeout", "", "test took too long (408)"),
            ("409 Conflict", "", "test failed (409)"),
            ("500 Internal Server Error", "oops", "test failed (500)"),
            ("502 Bad Gateway", page, "test is overloaded or down (502)"),
            (
                "503 Service Unavailable",
                page,
                "test is overloaded or down (503)",
            ),
            ("504 Gateway Timeout", page, "test took too long (504)"),
        ] {
            let fails = Answer::Bytes(status(line, "", body));
            let told = told(api, vec![fails, well(api)]).await;
            assert!(
                told[0].starts_with(&format!("[{says}: next try in ")),
                "{told:?}"
            );
            assert_eq!(told[1..], ["hello", "End"], "{api:?} {line}");
        }
    }
}

#[tokio::test]
async fn a_cut_before_the_call_begins_anew_and_one_after_it_goes_on() {
    for api in FORMATS {
        let turn = look_and_call();
        let [before, after] = [false, true].map(|and_it| up_to(api, &turn, "a.rs", and_it));
        let told_of = told(api, vec![cut(&before), well(api)]).await;
        assert_eq!(told_of[0], "I look.", "{api:?}");
        let begins = "[the answer of test was cut off in the middle";
        assert!(told_of[1].starts_with(begins), "{told_of:?}");
        assert_eq!(told_of[2..], ["again", "hello", "End"], "{api:?}");
        let due = ["I look.", "call t", "ToolCalls"];
        assert_eq!(told(api, vec![cut(&after)]).await, due, "{api:?}");
        // An error after it is no better than a cut, and no worse.
        let mut failed = after.clone();
        failed.push(error_event(api, "overloaded_error", "Overloaded"));
        let failed = Answer::Bytes(begun(&failed) + "0\r\n\r\n");
        assert_eq!(told(api, vec![failed]).await, due, "{api:?}");
        // Before anything at all.
        let told = told(api, vec![cut(&[]), Answer::Cut(String::new()), well(api)]).await;
        assert!(
            told[0].contains("cut off before it said anything"),
            "{told:?}"
        );
        assert!(
            told[1].contains("closed the connection before it answered"),
            "{told:?}"
        );
        assert_eq!(told[2..], ["hello", "End"], "{api:?}");
    }
}

#[tokio::test]
async fn garbage_in_the_middle_is_asked_for_again_once() {
    for api in FORMATS {
        for garbage in ["{\"choices\": [gar", "17", "\u{0}\u{1}\u{fffd}", "<html>"] {
            let mut events = up_to(api, &look_and_call(), "I look.", true);
            events.push(garbage.to_owned());
            let broken = || Answer::Bytes(begun(&events) + "0\r\n\r\n");
            let told_of = told(api, vec![broken(), well(api)]).await;
            let begins = "[the answer could not be understood: next try in ";
            assert_eq!(told_of[0], "I look.", "{api:?}");
            assert!(told_of[1].starts_with(begins), "{told_of:?}");
            assert_eq!(told_of[2..], ["again", "hello", "End"], "{api:?}");
            let told = told(api, vec![broken(), broken()]).await;
            let last = told.last().unwrap();
            let says = "error the model's answer can't be understood: ";
            let what_to_do = "Check that the provider's api and base_url are right";
            assert!(
                last.starts_with(says) && last.ends_with(what_to_do),
                "{told:?}"
            );
        }
    }
}

#[tokio::test]
async fn one_that_hangs_is_left_and_asked_again() {
    const IDLE: Duration = Duration::from_secs(120);
    for api in FORMATS {
        let half = up_to(api, &look_and_call(), "I look.", true);
        for (sent, said) in [
            (String::new(), None),
            (begun(&[]), None),
            (begun(&half), Some("I look.")),
        ] {
            let (url, mut sees) = server(vec![Answer::Hang(sent), well(api)]).await;
            let mut steps = steps(api, &url, &CancellationToken::new());
            let clock = Clock::stopped();
            let mut next = steps.next().boxed();
            assert!(next.as_mut().now_or_never().is_none());
            if let Some(said) = said {
                assert_eq!(shown(next.await.unwrap()).unwrap(), said);
                next = steps.next().boxed();
                assert!(next.as_mut().now_or_never().is_none());
            }
            // It is asked, and what there is of the answer was read.
            let asked = async { while !matches!(sees.recv().await, Some(Seen::Request(_))) {} };
            tokio::select! {
                () = asked => {}
                step = next.as_mut() => panic!("{step:?}"),
            }
            for _ in 0..50 {
                assert!(next.as_mut().now_or_never().is_none());
                tokio::task::yield_now().await;
            }
            clock
                .pass(IDLE.saturating_sub(Duration::from_secs(1)))
                .await;
            assert!(next.as_mut().now_or_never().is_none(), "{api:?}: too soon");
            clock.pass(Duration::from_secs(2)).await;
            let notice = shown(next.await.unwrap()).unwrap();
            let begins = "[the model has said nothing for 120 s: next try in 1 s";
            assert!(notice.starts_with(begins), "{notice}");
            assert_eq!(sees.recv().await, Some(Seen::Closed), "{api:?}");
            let mut next = steps.next().boxed();
            assert!(next.as_mut().now_or_never().is_none());
            clock.pass(Duration::from_secs(2)).await;
            let next = shown(next.await.unwrap());
            let rest: Vec<_> = steps.filter_map(async |step| shown(step)).collect().await;
            let rest: Vec<_> = next.into_iter().chain(rest).collect();
            let again = said.map(|_| "again");
            let due: Vec<_> = again.into_iter().chain(["hello", "End"]).collect();
            assert_eq!(rest, due, "{api:?}");
        }
    }
}

/// What would only fail again is not asked again; it is told in words that say what to do, and never with the key.
#[tokio::test]
async fn what_will_not_pass_is_told_at_once_with_what_to_do() {
    let page = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>";
    let echo = format!("invalid key {KEY}");
    let too_long = "the conversation is too long for some/model: ";
    let shorter =
        "Start a new session, narrow the request, or choose a model with a larger context";
    for api in FORMATS {
        let refused = |line, kind, message: &str| refusal(api, line, "", kind, message);
        let html = |line| Answer::Bytes(status(line, "content-type: text/html\r\n", page));
        let overflow = |words| refused("400 Bad Request", "invalid_request_error", words);
        for (answer, says, what_to_do) in [
            (
                refused("401 Unauthorized", "authentication_error", &echo),
                "test refused access (401): invalid key [key]",
                "Check the key in TEST_KEY",
            ),
            (
                refused("403 Forbidden", "permission_error", "not allowed"),
                "test refused access (403): not allowed",
                "Check the key in TEST_KEY",
            ),
            (
                refused("404 Not Found", "not_found_error", "no such model"),
                "test does not know the model “some/model” (404): no such model",
                "Check the model's name, and that base_url is right: http://127.0.0.1:",
            ),
            (
                refused("413 Payload Too Large", "request_too_large", "too large"),
                too_long,
                shorter,
            ),
            (
                overflow("prompt is too long: 210000 tokens > 200000 maximum"),
                too_long,
                shorter,
            ),
            (
                overflow(
                    "This model's maximum context length is 128000 tokens. However, you requested 130000.",
                ),
                too_long,
                shorter,
            ),
            (
                overflow("Your input exceeds the context window of this model."),
                too_long,
                shorter,
            ),
            (
                overflow("the request exceeds the available context size, try increasing it"),
                too_long,
                shorter,
            ),
            (
                html("200 OK"),
                "http://127.0.0.1:",
                "a proxy or a login page is in between, or base_url is wrong",
            ),
            (
                html("403 Forbidden"),
                "http://127.0.0.1:",
                "answered with a web page (403, “Sign in”)",
            ),
        ] {
            let told = told(api, vec![answer]).await;
            let [error] = &told[..] else {
                panic!("{api:?}: {told:?}")
            };
            assert!(
                error.starts_with(&format!("error {says}")),
                "{api:?}: {error}"
            );
            assert!(error.contains(what_to_do), "{api:?}: {error}");
            assert!(!error.contains(KEY), "{api:?}: {error}");
        }
    }
}

/// At any moment, in real time.
#[tokio::test]
async fn a_cancel_ends_it_within_200_ms_whatever_it_waits_for() {
    let stalled = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 100\r\n\r\n{\"error\": ";
    for api in FORMATS {
        let half = begun(&up_to(api, &look_and_call(), "I look.", true));
        let limited = |headers| {
            refusal(
                api,
                "429 Too Many Requests",
                headers,
                "rate_limit_error",
                "slow down",
            )
        };
        for (moment, answers, steps_before) in [
            ("before the answer", vec![Answer::Hang(String::new())], 0),
            ("behind its head", vec![Answer::Hang(begun(&[]))], 0),
            ("in the middle of it", vec![Answer::Hang(half)], 1),
            (
                "in the middle of a refusal",
                vec![Answer::Hang(stalled.to_owned())],
                0,
            ),
            ("in a wait", vec![limited("retry-after: 60\r\n")], 1),
            (
                "in the next try",
                vec![limited("retry-after: 0\r\n"), Answer::Hang(String::new())],
                1,
            ),
        ] {
            let asked = answers.len();
            let (url, mut sees) = server(answers).await;
            let cancel = CancellationToken::new();
            let mut steps = steps(api, &url, &cancel);
            for _ in 0..steps_before {
                steps.next().await.unwrap().unwrap();
            }
            let waiting = tokio::spawn(async move { steps.next().await });
            let mut requests = 0;
            while requests < asked {
                requests += usize::from(matches!(sees.recv().await, Some(Seen::Request(_))));
            }
            tokio::task::yield_now().await;
            assert!(!waiting.is_finished(), "{api:?} {moment}");
            let begun = Instant::now();
            cancel.cancel();
            let ended = waiting.await.unwrap();
            assert_eq!(ended, Some(Err(ModelError::Cancelled)), "{api:?} {moment}");
            let took = begun.elapsed();
            assert!(
                took < Duration::from_millis(200),
                "{api:?} {moment}: {took:?}"
            );
        }
    }
}

/// Also while the key is asked for.
#[cfg(unix)]
#[tokio::test]
async fn a_cancel_ends_the_command_that_prints_the_key() {
    let (url, _sees) = server(Vec::new()).await;
    let folder = tempfile::tempdir().unwrap();
    let begun_file = folder.path().join("begun");
    let script = format!("echo x > {}; exec sleep 60", begun_file.display());
    let config = ProviderConfig {
        api_key_env: None,
        api_key_command: Some(["sh", "-c", &script].map(str::to_owned).to_vec()),
        ..crate::config(&url)
    };
    let provider: Arc<dyn Provider> = crate::provider_with(config, Duration::from_secs(120));
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let waiting = tokio::spawn(async move { provider.stream(&request(), &stop).await.err() });
    while !begun_file.exists() {
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    cancel.cancel();
    assert_eq!(waiting.await.unwrap(), Some(ModelError::Cancelled));
    assert!(
        begun.elapsed() < Duration::from_millis(200),
        "{:?}",
        begun.elapsed()
    );
}
