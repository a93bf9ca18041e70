//! When a provider says that it may be tried again: in milliseconds, in seconds, as a date, or only in words.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// What the headers of a refusal say. A date that has passed means now; nonsense means that nothing was said.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// What the words of a refusal say: “Please try again in 1m6.57s.” An error inside a stream has no headers.
pub(crate) fn retry_in_words(message: &str) -> Option<Duration> {
    const BEFORE: &str = "try again in ";
    // ASCII only, so that the offsets hold in the message as well.
    let lower = message.to_ascii_lowercase();
    let mut rest = &lower[lower.find(BEFORE)? + BEFORE.len()..];
    let mut seconds = None;
    loop {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let Ok(count) = rest[..rest.len() - number.len()]
            .trim_end_matches('.')
            .parse::<f64>()
        else {
            break;
        };
        let number = number.trim_start();
        let after = number.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &number[..number.len() - after.len()] {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => return None,
        };
        seconds = Some(seconds.unwrap_or(0.0) + count * unit);
        rest = after.trim_start();
    }
    Duration::try_from_secs_f64(seconds?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        let now = httpdate::parse_http_date("Fri, 06 Nov 2026 08:00:00 GMT").unwrap();
        let check = |name: &'static str, value: &str, ms: Option<u64>| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            assert_eq!(
                retry_after(&headers, now),
                ms.map(Duration::from_millis),
                "{name}: {value}"
            );
        };
        check("retry-after", "12", Some(12_000));
        check("retry-after", " 0.5 ", Some(500));
        check("retry-after-ms", "1500", Some(1_500));
        check("retry-after", "Fri, 06 Nov 2026 08:00:30 GMT", Some(30_000));
        check(
            "retry-after",
            "Friday, 06-Nov-26 08:00:30 GMT",
            Some(30_000),
        );
        check("retry-after", "Fri Nov  6 08:00:30 2026", Some(30_000));
        check("retry-after", "Fri, 06 Nov 2026 07:00:00 GMT", Some(0));
        check("retry-after", "soon", None);
        check("retry-after", "-3", None);
        check("retry-after", "NaN", None);
        check("retry-after", "1e300", None);
        check("x-other", "12", None);
    }

    #[test]
    fn in_words() {
        for (message, ms) in [
            (
                "Limit 30000. Please try again in 6.57s. Visit https://x.",
                Some(6570),
            ),
            ("Please try again in 898ms.", Some(898)),
            ("Try again in 1m6.5s", Some(66_500)),
            ("try again in 2h3m", Some(7_380_000)),
            ("Please try again in 20 seconds.", Some(20_000)),
            ("try again in 1 minute 5 seconds", Some(65_000)),
            ("ü Try Again In 5 s, ü", Some(5_000)),
            ("try again in 5 days", None),
            ("try again in a while", None),
            ("try again in ", None),
            ("try again in 1e999s", None),
            ("try again in ...s", None),
            ("try again later", None),
        ] {
            assert_eq!(
                retry_in_words(message),
                ms.map(Duration::from_millis),
                "{message}"
            );
        }
    }
}
