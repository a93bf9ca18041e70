//! Statuses, breaks, silence, cancelling, reuse, proxies.

use std::time::Duration;

use futures::StreamExt;
use model::{ModelError, ProviderConfig, Stop, StreamEvent};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::server::{Answer, CALL, DONE, HELLO, STOP, Seen, chunked, complete, server, status};
use crate::{KEY, answer, ask, config, hello, provider, provider_with, request};

#[tokio::test]
async fn asks_as_the_format_demands_and_gives_the_answer() {
    let (url, mut sees) = server(vec![Answer::Bytes(complete(&[HELLO, STOP, DONE]))]).await;
    assert_eq!(
        answer(&provider(&url)).await,
        [hello(), Ok(StreamEvent::Done(Stop::End))]
    );
    assert_eq!(sees.recv().await, Some(Seen::Connected));
    let Some(Seen::Request(request)) = sees.recv().await else {
        panic!("no request")
    };
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{head}"
    );
    for header in [
        "authorization: Bearer sk-very-secret",
        "content-type: application/json",
        "accept: text/event-stream",
        "x-team: team-secret",
        "user-agent: copydesk/",
    ] {
        assert!(
            head.contains(&format!("\r\n{header}")),
            "{header} in {head}"
        );
    }
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (body["model"].as_str(), body["stream"].as_bool()),
        (Some("some/model"), Some(true))
    );
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let complete = || Answer::Bytes(complete(&[HELLO, STOP, DONE]));
    let (url, mut sees) = server(vec![complete(), complete(), complete()]).await;
    let provider = provider(&url);
    for _ in 0..3 {
        // Not read to its end: whoever has seen that it is done may drop it.
        let mut stream = ask(&provider).await.unwrap();
        while !matches!(stream.next().await, Some(Ok(StreamEvent::Done(_)))) {}
        drop(stream);
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
    }
    let mut connections = 0;
    while let Ok(seen) = sees.try_recv() {
        connections += u32::from(seen == Seen::Connected);
    }
    assert_eq!(connections, 1);
}

#[tokio::test]
async fn each_status_is_told_and_never_the_key() {
    let echo = format!(r#"{{"error":{{"message":"bad key {KEY} for team-secret"}}}}"#);
    for (line, headers, body, wanted) in [
        (
            "401 Unauthorized",
            "",
            echo.as_str(),
            "test refused access (401): bad key [key] for [key]. Check the key in TEST_KEY",
        ),
        (
            "404 Not Found",
            "",
            r#"{"error":"no such model"}"#,
            "test does not know the model “some/model” (404): no such model. ",
        ),
        (
            "429 Too Many Requests",
            "retry-after: 12\r\n",
            r#"{"error":{"message":"slow down"}}"#,
            "test limits the rate of requests (429): slow down. Try again in 12 s",
        ),
        (
            "429 Too Many Requests",
            "retry-after-ms: 1500\r\n",
            "",
            "test limits the rate of requests (429): Too Many Requests. Try again in 2 s",
        ),
        (
            "500 Internal Server Error",
            "",
            "oops",
            "test failed (500): oops. Try again later, or choose another model",
        ),
        (
            "529 Overloaded",
            "",
            "",
            "test is overloaded or down (529): no reason given. Try again later",
        ),
        (
            "413 Payload Too Large",
            "",
            "",
            "the conversation is too long for some/model: Payload Too Large. ",
        ),
        (
            "502 Bad Gateway",
            "",
            "<html><title>nginx</title>",
            "test is overloaded or down (502): nginx. Try again later",
        ),
        (
            "302 Found",
            "location: http://elsewhere/\r\n",
            "",
            "test refused the request (302): it redirects to http://elsewhere/",
        ),
    ] {
        let (url, _sees) = server(vec![Answer::Bytes(status(line, headers, body))]).await;
        let said = answer(&provider(&url)).await;
        let [Err(error)] = &said[..] else {
            panic!("{line}: {said:?}")
        };
        assert!(error.to_string().starts_with(wanted), "{line}: {error}");
        assert!(
            !format!("{error} {error:?}").contains(KEY),
            "{line}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let said = answer(&provider(&url)).await;
    let [Err(error)] = &said[..] else {
        panic!("{said:?}")
    };
    let wanted = format!(
        "cannot reach {url}/chat/completions: Connection refused (os error 111). Is the server running?"
    );
    #[cfg(target_os = "linux")]
    assert!(error.to_string().starts_with(&wanted), "{error}");
    assert!(
        matches!(error, ModelError::Unreachable { .. }),
        "{error} {wanted}"
    );
}

#[tokio::test]
async fn a_connection_that_breaks() {
    let said = |cut: String| async {
        let (url, _sees) = server(vec![Answer::Cut(cut)]).await;
        answer(&provider(&url)).await
    };
    let cut = |said: &[Result<StreamEvent, ModelError>], words: &str| match said.last() {
        Some(Err(ModelError::Stream(text))) => assert!(text.contains(words), "{text}"),
        other => panic!("{other:?}"),
    };
    cut(
        &said(String::new()).await,
        "closed the connection before it answered",
    );
    cut(&said(chunked(&[])).await, "cut off before it said anything");
    let text = said(chunked(&[HELLO])).await;
    assert_eq!(text[0], hello());
    cut(&text, "cut off in the middle");
    let called = said(chunked(&[CALL])).await;
    assert!(
        matches!(&called[0], Ok(StreamEvent::ToolCall(call)) if call.name == "t"),
        "{called:?}"
    );
    assert_eq!(called[1..], [Ok(StreamEvent::Done(Stop::ToolCalls))]);
    assert_eq!(
        said(chunked(&[HELLO, STOP])).await[1..],
        [Ok(StreamEvent::Done(Stop::End))]
    );
    // Neither a length nor chunks: the end of the connection is the end of the answer.
    let bare = format!("HTTP/1.1 200 OK\r\n\r\ndata: {HELLO}\n\ndata: {STOP}\n\n");
    assert_eq!(
        said(bare).await,
        [hello(), Ok(StreamEvent::Done(Stop::End))]
    );
}

#[tokio::test]
async fn an_answer_that_is_whole_or_a_web_page() {
    let whole = r#"{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}"#;
    let (url, _sees) = server(vec![Answer::Bytes(status(
        "200 OK",
        "content-type: application/json\r\n",
        whole,
    ))])
    .await;
    assert_eq!(
        answer(&provider(&url)).await,
        [hello(), Ok(StreamEvent::Done(Stop::End))]
    );
    let page = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>";
    let (url, _sees) = server(vec![Answer::Bytes(status(
        "200 OK",
        "content-type: text/html\r\n",
        page,
    ))])
    .await;
    let said = answer(&provider(&url)).await;
    assert!(
        matches!(&said[..], [Err(ModelError::Html { title: Some(title), .. })] if title == "Sign in"),
        "{said:?}"
    );
}

#[tokio::test]
async fn silence_ends_the_request() {
    for (sent, before) in [(String::new(), 0), (chunked(&[HELLO]), 1)] {
        let (url, mut sees) = server(vec![Answer::Hang(sent)]).await;
        let provider = provider(&url);
        let asking = tokio::spawn(async move { answer(&provider).await });
        while !matches!(sees.recv().await.unwrap(), Seen::Request(_)) {}
        // From here on the clock jumps to the next timer whenever there is nothing else to do.
        tokio::time::pause();
        let said = asking.await.unwrap();
        assert_eq!(
            said[before..],
            [Err(ModelError::Idle(Duration::from_secs(120)))]
        );
        assert_eq!(
            sees.recv().await,
            Some(Seen::Closed),
            "the connection is closed at once"
        );
        tokio::time::resume();
    }
}

#[tokio::test]
async fn silence_after_the_end_is_an_end() {
    let (url, _sees) = server(vec![Answer::Hang(chunked(&[HELLO, STOP]))]).await;
    let mut stream = ask(&provider(&url)).await.unwrap();
    assert_eq!(stream.next().await, Some(hello()));
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    assert_eq!(stream.next().await, Some(Ok(StreamEvent::Done(Stop::End))));
    assert!(
        before.elapsed() < Duration::from_secs(10),
        "{:?}",
        before.elapsed()
    );
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn cancelling_closes_the_connection_at_any_moment() {
    // Before the answer begins.
    let (url, mut sees) = server(vec![Answer::Hang(String::new())]).await;
    let (provider, cancel) = (provider(&url), CancellationToken::new());
    let stop = cancel.clone();
    let asking = tokio::spawn(async move { provider.stream(&request(), &stop).await.err() });
    while !matches!(sees.recv().await.unwrap(), Seen::Request(_)) {}
    cancel.cancel();
    assert_eq!(asking.await.unwrap(), Some(ModelError::Cancelled));
    assert_eq!(sees.recv().await, Some(Seen::Closed));

    // In the middle of it.
    let (url, mut sees) = server(vec![Answer::Hang(chunked(&[HELLO]))]).await;
    let cancel = CancellationToken::new();
    let mut stream = crate::provider(&url)
        .stream(&request(), &cancel)
        .await
        .unwrap();
    assert_eq!(stream.next().await, Some(hello()));
    let waiting = tokio::spawn(async move { stream.collect::<Vec<_>>().await });
    cancel.cancel();
    assert_eq!(waiting.await.unwrap(), [Err(ModelError::Cancelled)]);
    while sees.recv().await.unwrap() != Seen::Closed {}

    // By dropping it.
    let (url, mut sees) = server(vec![Answer::Hang(chunked(&[HELLO]))]).await;
    drop(ask(&crate::provider(&url)).await.unwrap());
    while sees.recv().await.unwrap() != Seen::Closed {}
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_that_was_refused_is_asked_for_again() {
    let denied = || Answer::Bytes(status("401 Unauthorized", "", "no"));
    let (url, mut sees) = server(vec![denied(), denied()]).await;
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "echo x >> {0}/asked; echo sk-$(wc -l < {0}/asked)",
        folder.path().display()
    );
    let command = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let config = ProviderConfig {
        api_key_env: None,
        api_key_command: Some(command),
        ..config(&url)
    };
    let provider = provider_with(config, Duration::from_secs(120));
    for key in ["sk-1", "sk-2"] {
        let said = answer(&provider).await;
        assert!(
            matches!(&said[..], [Err(ModelError::Denied { .. })]),
            "{said:?}"
        );
        let sent = loop {
            if let Seen::Request(request) = sees.recv().await.unwrap() {
                break request;
            }
        };
        assert!(
            sent.contains(&format!("authorization: Bearer {key}\r\n")),
            "{sent}"
        );
    }
}

/// The other half of the next test, which runs it with proxy variables set: an environment is fixed when a process starts.
#[tokio::test]
#[ignore = "run by the_proxy_variables_count_but_not_for_this_machine"]
async fn asks_under_proxy_variables() {
    let said = answer(&provider(&std::env::var("TEST_BASE_URL").unwrap())).await;
    assert_eq!(said, [hello(), Ok(StreamEvent::Done(Stop::End))]);
}

#[tokio::test]
async fn the_proxy_variables_count_but_not_for_this_machine() {
    for (through_proxy, no_proxy, reached) in [
        (true, "", true),
        (false, "", true),
        (true, "model.test", false),
    ] {
        let (url, mut sees) = server(vec![Answer::Bytes(complete(&[HELLO, STOP, DONE]))]).await;
        let (base, proxy) = if through_proxy {
            (
                "http://model.test/v1".to_owned(),
                url.trim_end_matches("/v1").to_owned(),
            )
        } else {
            (url, "http://127.0.0.1:1".to_owned())
        };
        let output = tokio::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--ignored",
                "answers::asks_under_proxy_variables",
            ])
            .env("TEST_BASE_URL", base)
            .env("HTTP_PROXY", &proxy)
            .env("http_proxy", &proxy)
            .env("NO_PROXY", no_proxy)
            .env("no_proxy", no_proxy)
            .output()
            .await
            .unwrap();
        assert_eq!(output.status.success(), reached, "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("running 1 test"),
            "{output:?}"
        );
        if reached {
            assert_eq!(sees.recv().await, Some(Seen::Connected));
            let Some(Seen::Request(request)) = sees.recv().await else {
                panic!("no request")
            };
            let target = if through_proxy {
                "http://model.test/v1/chat/completions"
            } else {
                "/v1/chat/completions"
            };
            assert!(
                request.starts_with(&format!("POST {target} HTTP/1.1\r\n")),
                "{request}"
            );
        }
    }
}
