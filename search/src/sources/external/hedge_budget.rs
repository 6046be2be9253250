//! The bound of second requests.

use serde::Serialize;

/// At most 5 % more calls.
const CALLS_PER_HEDGE: u32 = 20;
const MAX_SAVED: u32 = 10;

/// Second requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Hedges {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered first.
    pub won: u64,
}

#[derive(Debug, Default)]
pub(super) struct HedgeBudget {
    calls: u32,
}

impl HedgeBudget {
    pub(super) fn earn(&mut self) {
        self.calls = (self.calls + 1).min(MAX_SAVED * CALLS_PER_HEDGE);
    }

    pub(super) fn spend(&mut self) -> bool {
        let left = self.calls.checked_sub(CALLS_PER_HEDGE);
        self.calls = left.unwrap_or(self.calls);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn hedges_are_at_most_one_in_twenty_calls(late in prop::collection::vec(any::<bool>(), 0..2_000)) {
            let mut budget = HedgeBudget::default();
            let mut sent = 0;
            for (calls, late) in (1..).zip(late) {
                budget.earn();
                sent += usize::from(late && budget.spend());
                prop_assert!(sent * 20 <= calls, "{sent} second requests in {calls} calls");
            }
        }
    }

    #[test]
    fn saved_hedges_are_bounded() {
        let mut budget = HedgeBudget::default();
        (0..100_000).for_each(|_| budget.earn());
        assert_eq!((0..100).filter(|_| budget.spend()).count(), 10);
    }
}
