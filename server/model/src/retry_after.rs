//! When a provider says that it may be tried again: in milliseconds, in seconds, or as a date.

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
}
