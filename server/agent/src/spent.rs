//! What a run has used of models, and what that cost.

use model::{Cost, Usage};
use serde_json::{Value, json};

/// Tokens, and money as far as prices are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    usage: Usage,
    known: f64,
    has_unpriced: bool,
}

impl Spent {
    /// Adds what an answer used, at these prices.
    pub(crate) fn add(&mut self, usage: Usage, prices: Option<Cost>) {
        self.usage += usage;
        match prices {
            Some(prices) => self.known += prices.of(&usage),
            None => self.has_unpriced |= usage != Usage::default(),
        }
    }

    /// The tokens.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// In USD; `None` if something was used whose price is not known.
    pub fn cost(&self) -> Option<f64> {
        (!self.has_unpriced).then_some(self.known)
    }

    /// In USD, what has a price.
    pub(crate) fn known_cost(&self) -> f64 {
        self.known
    }

    /// This and what came to be spent from `before` to `now` of another.
    pub fn grow(&mut self, before: &Spent, now: &Spent) {
        let (old, new) = (before.usage, now.usage);
        self.usage += Usage {
            input: new.input.saturating_sub(old.input),
            output: new.output.saturating_sub(old.output),
            cache_read: new.cache_read.saturating_sub(old.cache_read),
            cache_write: new.cache_write.saturating_sub(old.cache_write),
        };
        self.known += (now.known - before.known).max(0.0);
        self.has_unpriced |= now.has_unpriced;
    }

    /// As events and `copydesk.status` tell it. `cost` is in USD, null where a price is not known.
    pub fn to_json(&self) -> Value {
        // Parts of a millionth of a dollar are noise of the arithmetic.
        let cost = self.cost().map(|cost| (cost * 1e6).round() / 1e6);
        json!({
            "input": self.usage.input,
            "output": self.usage.output,
            "cacheRead": self.usage.cache_read,
            "cacheWrite": self.usage.cache_write,
            "cost": cost,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: Usage = Usage {
        input: 1_000_000,
        output: 100_000,
        cache_read: 0,
        cache_write: 0,
    };

    const PRICES: Option<Cost> = Some(Cost {
        input: 3.0,
        output: 15.0,
        cache_read: None,
        cache_write: None,
        long: None,
    });

    #[test]
    fn it_adds_up_as_long_as_prices_are_known() {
        let mut spent = Spent::default();
        assert_eq!(spent.to_json()["cost"], 0.0);
        spent.add(USAGE, PRICES);
        assert_eq!(spent.to_json()["cost"], 4.5);
        spent.add(Usage::default(), None);
        assert_eq!(spent.to_json()["cost"], 4.5);
        spent.add(USAGE, None);
        assert_eq!(spent.to_json()["cost"], Value::Null);
        assert_eq!(spent.to_json()["input"], 2_000_000);
    }

    #[test]
    fn a_sum_of_runs_grows_by_what_is_new() {
        let (mut sum, mut before, mut now) = (Spent::default(), Spent::default(), Spent::default());
        for _ in 0..3 {
            now.add(USAGE, PRICES);
            sum.grow(&before, &now);
            before = now;
        }
        assert_eq!(sum.to_json(), now.to_json());
    }
}
