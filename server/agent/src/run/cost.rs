//! What a run may cost: before each step it is looked at what it has cost and what the step would add.

use model::{Request, Usage};

use super::{End, Run};
use crate::event::EventKind;

impl Run {
    /// Says so, once, if the limit can't be held.
    pub(super) fn tell_of_unpriced(&self) {
        let Some(most) = self.max_cost() else { return };
        let is_priced = self.provider.facts().cost.is_some();
        let is_free = self.provider.id() == crate::quickfix::ID;
        if !is_priced && !is_free {
            let id = self.provider.id();
            let (provider, model) = id.split_once('/').unwrap_or((id, ""));
            self.outlet.emit(EventKind::Notice {
                message: format!(
                    "max_cost ({}) can't be held: the price of {id} is not known. Give it in \
                     [providers.{provider}.models.\"{model}\"] cost",
                    dollars(most)
                ),
            });
        }
    }

    /// Ends the run if the next step would take it past what it may cost.
    pub(super) fn afford(&self, request: &Request) -> Result<(), End> {
        let (Some(most), Some(prices)) = (self.max_cost(), self.provider.facts().cost) else {
            return Ok(());
        };
        let spent = self.spent.known_cost();
        let next = prices.of(&Usage {
            input: request
                .estimated_tokens_for(self.provider.id())
                .saturating_sub(self.cached),
            cache_read: self.cached,
            ..Usage::default()
        });
        if spent + next <= most {
            return Ok(());
        }
        Err(End::Failed(format!(
            "stopped at {}: the next step costs about {} or more, and a run may cost {} (max_cost). What was \
             changed so far stays; ask again in this session to go on, with the same limit anew, or raise it",
            dollars(spent),
            dollars(next),
            dollars(most)
        )))
    }

    fn max_cost(&self) -> Option<f64> {
        self.request.max_cost.or(self.agent.models.max_cost)
    }
}

fn dollars(amount: f64) -> String {
    match amount {
        small if small > 0.0 && small < 0.01 => format!("${small:.4}"),
        other => format!("${other:.2}"),
    }
}
