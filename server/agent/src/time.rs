//! Moments as text.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// `2026-11-30T19:31:00Z`. A moment before 1970 is given as 1970.
pub fn rfc3339(moment: SystemTime) -> String {
    let second = seconds(moment) % DAY;
    let (hour, minute, second) = (second / 3600, second % 3600 / 60, second % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", date(moment))
}

/// `2026-11-30`, in UTC.
pub(crate) fn date(moment: SystemTime) -> String {
    let (year, month, day) = calendar(seconds(moment) / DAY);
    format!("{year:04}-{month:02}-{day:02}")
}

fn seconds(moment: SystemTime) -> u64 {
    moment
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// The date of a day counted from 1970. Years are counted from March, so that the leap day is their
/// last.
fn calendar(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let days = days + 719_468;
    let day_of_era = days % ERA;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (
        days / ERA * 400 + year_of_era + u64::from(month <= 2),
        month,
        day,
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let moment = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(rfc3339(moment), expected);
            assert_eq!(Some(date(moment).as_str()), expected.get(..10));
        }
    }
}
