use std::collections::VecDeque;
use std::sync::Mutex;

use futures::FutureExt;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::ToolCall;

type Step = Result<StreamEvent, ModelError>;
type Try = Result<Vec<Step>, ModelError>;

/// A model whose answers are written down.
struct Script {
    id: &'static str,
    tries: Mutex<VecDeque<Try>>,
}

impl Script {
    fn new(id: &'static str, tries: impl IntoIterator<Item = Try>) -> Arc<Self> {
        Arc::new(Self {
            id,
            tries: Mutex::new(tries.into_iter().collect()),
        })
    }

    fn left(&self) -> usize {
        self.tries.lock().unwrap().len()
    }
}

#[async_trait]
impl Provider for Script {
    fn id(&self) -> &str {
        self.id
    }

    async fn stream(&self, _: &Request, _: &CancellationToken) -> Result<EventStream, ModelError> {
        let next = self.tries.lock().unwrap().pop_front();
        let steps = next.expect("asked more often than was written down")?;
        Ok(Box::pin(stream::iter(steps)))
    }
}

fn status(status: u16, retry_after: Option<u64>) -> ModelError {
    ModelError::Status {
        provider: "p".into(),
        status,
        message: "no".into(),
        passes: matches!(status, 408 | 409 | 429 | 500..),
        retry_after: retry_after.map(Duration::from_secs),
    }
}

#[allow(clippy::unnecessary_wraps, reason = "it stands among others that fail")]
fn text(text: &str) -> Step {
    Ok(StreamEvent::Text(text.into()))
}

#[allow(clippy::unnecessary_wraps, reason = "it stands among others that fail")]
fn done() -> Step {
    Ok(StreamEvent::Done(Stop::End))
}

#[allow(clippy::unnecessary_wraps, reason = "it stands among others that fail")]
fn call() -> Step {
    Ok(StreamEvent::ToolCall(ToolCall {
        id: "c".into(),
        name: "read".into(),
        input: json!({}),
        malformed: None,
        repaired: None,
    }))
}

fn cut() -> ModelError {
    ModelError::Stream("the answer of p was cut off in the middle. Try again".into())
}

/// The steps of an answer in words, and how long they took; waits are made to pass at once.
async fn told(first: Arc<Script>, fallback: Option<Arc<Script>>) -> (String, f64) {
    let begun = Instant::now();
    let fallback = fallback.map(|one| one as Arc<dyn Provider>);
    let model = Resilient::new(first.clone(), fallback, Patience::default());
    let stream = model
        .stream(&Request::default(), &CancellationToken::new())
        .await
        .unwrap();
    let steps: Vec<_> = stream.collect().await;
    assert_eq!(first.left(), 0, "asked less often than was written down");
    let shown: Vec<_> = steps
        .into_iter()
        .map(|step| match step {
            Ok(StreamEvent::Text(text)) => text,
            Ok(StreamEvent::Notice(notice)) => format!("[{notice}]"),
            Ok(StreamEvent::Again) => "again".into(),
            Ok(StreamEvent::ToolCall(_)) => "call".into(),
            Ok(StreamEvent::Done(stop)) => format!("{stop:?}"),
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("error: {error}"),
        })
        .collect();
    (shown.join(" | "), begun.elapsed().as_secs_f64())
}

#[tokio::test(start_paused = true)]
async fn it_waits_as_long_as_it_is_asked_to_and_says_so() {
    let model = Script::new(
        "p/m",
        [Err(status(429, Some(12))), Ok(vec![text("hi"), done()])],
    );
    let (shown, took) = told(model, None).await;
    // Up to a quarter of a second by chance on top.
    let (notice, rest) = shown.split_once(" | ").unwrap();
    assert_eq!(
        notice,
        "[rate limited by p (429): next try in 12 s (4 tries left)]"
    );
    assert_eq!(rest, "hi | End");
    assert!((12.0..12.3).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn what_is_overloaded_is_asked_again_less_and_less_often() {
    let overloaded = || Err(status(529, None));
    let tries = [
        overloaded(),
        overloaded(),
        overloaded(),
        Ok(vec![text("hi"), done()]),
    ];
    let (shown, took) = told(Script::new("p/m", tries), None).await;
    let notices = shown.matches("p is overloaded or down (529): next try in ");
    assert_eq!(notices.count(), 3, "{shown}");
    assert!(shown.ends_with("hi | End"), "{shown}");
    // 1 + 2 + 4 seconds, each a quarter more or less.
    assert!((5.25..8.75).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn its_tries_are_counted() {
    let tries = (0..5).map(|_| Err(status(503, None)));
    let (shown, _) = told(Script::new("p/m", tries), None).await;
    assert!(shown.contains("(1 try left)"), "{shown}");
    assert!(
        shown.ends_with(
            "error: p is overloaded or down (503): no. Try again later, or choose another model"
        ),
        "{shown}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_broke_off_is_void_and_begins_anew() {
    let tries = [
        Ok(vec![text("ha"), Err(cut())]),
        Ok(vec![Err(ModelError::Idle(Duration::from_secs(9)))]),
        Ok(vec![text("whole"), done()]),
    ];
    let (shown, _) = told(Script::new("p/m", tries), None).await;
    let without_waits: Vec<_> = shown
        .split(" | ")
        .map(|step| step.split(": next").next().unwrap_or(step))
        .collect();
    assert_eq!(
        without_waits.join(" | "),
        "ha | [the answer of p was cut off in the middle | again | [the model has said nothing for 9 s | whole | End"
    );
}

#[tokio::test(start_paused = true)]
async fn calls_that_came_whole_are_made_whatever_breaks_after_them() {
    let tries = [Ok(vec![text("I look."), call(), Err(status(529, None))])];
    let (shown, took) = told(Script::new("p/m", tries), None).await;
    assert_eq!(shown, "I look. | call | ToolCalls");
    assert!(took < 0.1, "{took}");
}

#[tokio::test(start_paused = true)]
async fn what_would_only_fail_again_is_not_asked_again() {
    let denied = || ModelError::Denied {
        provider: "p".into(),
        status: 401,
        message: "no".into(),
        key: "the key in P".into(),
    };
    for error in [denied(), status(400, None), status(429, Some(3600))] {
        let wanted = format!("error: {error}");
        let (shown, took) = told(Script::new("p/m", [Err(error)]), None).await;
        assert_eq!(shown, wanted);
        assert!(took < 0.1, "{took}");
    }
    let tries = (0..2).map(|_| Ok(vec![Err(ModelError::Malformed("17".into()))]));
    let (shown, _) = told(Script::new("p/m", tries), None).await;
    assert!(
        shown.contains("error: the model's answer can't be understood"),
        "{shown}"
    );
}

#[tokio::test(start_paused = true)]
async fn another_model_answers_in_its_place() {
    let first = Script::new("p/m", (0..5).map(|_| Ok(vec![text("ha"), Err(cut())])));
    let other = Script::new(
        "q/n",
        [Err(status(429, Some(1))), Ok(vec![text("hi"), done()])],
    );
    let (shown, _) = told(first, Some(other.clone())).await;
    assert_eq!(other.left(), 0);
    let end = shown
        .split("[the answer of p was cut off in the middle. Try again. ")
        .nth(1);
    let end = end.unwrap_or_else(|| panic!("{shown}"));
    assert!(
        end.starts_with("q/n answers instead] | again | [rate limited by p (429)"),
        "{end}"
    );
    assert!(end.ends_with("| hi | End"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn once_it_has_it_stays() {
    let first = Script::new("p/m", [Err(status(400, None))]);
    let other = Script::new("q/n", [Ok(vec![done()]), Ok(vec![done()])]);
    let model = Resilient::new(first, Some(other.clone()), Patience::default());
    assert_eq!(model.id(), "p/m");
    let cancel = CancellationToken::new();
    for _ in 0..2 {
        let stream = model.stream(&Request::default(), &cancel).await.unwrap();
        let steps: Vec<_> = stream.collect().await;
        assert_eq!(steps.last(), Some(&done()));
        assert_eq!(model.id(), "q/n");
    }
    assert_eq!(other.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_left_at_once_when_it_is_cancelled() {
    let model = Resilient::new(
        Script::new("p/m", [Err(status(429, Some(60)))]),
        None,
        Patience::default(),
    );
    let cancel = CancellationToken::new();
    let mut stream = model.stream(&Request::default(), &cancel).await.unwrap();
    let notice = stream.next().await.unwrap();
    assert!(matches!(notice, Ok(StreamEvent::Notice(_))), "{notice:?}");
    assert!(stream.next().now_or_never().is_none(), "it waits");
    cancel.cancel();
    assert_eq!(stream.next().await, Some(Err(ModelError::Cancelled)));
    assert_eq!(stream.next().await, None);
}
