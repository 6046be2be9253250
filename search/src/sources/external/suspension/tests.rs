use proptest::prelude::*;

use super::*;

const CAUSES: [FailureKind; 5] = [
    FailureKind::Timeout,
    FailureKind::Unavailable,
    FailureKind::Unauthorized,
    FailureKind::Invalid,
    FailureKind::Error,
];

fn failed(cause: FailureKind) -> CallEnd {
    CallEnd::Failed { cause, retry_after: None }
}

fn busy(seconds: u64) -> CallEnd {
    let retry_after = Some(Duration::from_secs(seconds));
    CallEnd::Failed { cause: FailureKind::Unavailable, retry_after }
}

fn fresh() -> Suspension {
    Suspension::new(SuspensionSettings::default())
}

#[track_caller]
fn allowed(suspension: &mut Suspension, now: i64) -> Permission {
    match suspension.admit(now) {
        Ok(permission) => permission,
        Err(suspended) => panic!("suspended at {now}: {suspended:?}"),
    }
}

fn is_refused(suspension: &mut Suspension, now: i64) -> bool {
    suspension.admit(now).is_err()
}

#[track_caller]
fn call(suspension: &mut Suspension, now: i64, end: CallEnd) -> Option<Transition> {
    let permission = allowed(suspension, now);
    suspension.judge(now, permission, end, 0.0)
}

#[track_caller]
fn fail(suspension: &mut Suspension, now: i64, cause: FailureKind) -> Suspended {
    for _ in 0..10 {
        if let Some(Transition::Suspended(suspended)) = call(suspension, now, failed(cause)) {
            return suspended;
        }
    }
    panic!("ten failures did not suspend it");
}

#[test]
fn each_cause_has_its_own_limit_and_pauses() {
    for (cause, failures, pauses) in [
        (FailureKind::Unavailable, 3, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 48_000, 48_000]),
        (FailureKind::Unauthorized, 2, [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 240_000, 240_000]),
        (FailureKind::Invalid, 5, [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 240_000, 240_000]),
        (FailureKind::Error, 5, [1_000, 2_000, 4_000, 8_000, 16_000, 24_000, 24_000, 24_000]),
        (FailureKind::Timeout, 5, [1_000, 2_000, 4_000, 8_000, 16_000, 24_000, 24_000, 24_000]),
    ] {
        let mut suspension = fresh();
        for _ in 1..failures {
            assert_eq!(call(&mut suspension, 0, failed(cause)), None);
        }
        let mut now = 0;
        for (times, pause) in (1..).zip(pauses) {
            let suspended = Suspended { until: now + pause, cause, times };
            assert_eq!(call(&mut suspension, now, failed(cause)), Some(Transition::Suspended(suspended)));
            assert_eq!(suspension.suspended(), Some(suspended));
            assert_eq!(suspension.admit(now), Err(suspended));
            assert_eq!(suspension.admit(now + pause - 1), Err(suspended));
            now += pause;
        }
    }
}

#[test]
fn failures_of_one_cause_add_up_until_an_answer() {
    let mut suspension = fresh();
    for cause in [FailureKind::Unavailable, FailureKind::Error, FailureKind::Unavailable, FailureKind::Error]
    {
        assert_eq!(call(&mut suspension, 0, failed(cause)), None);
    }
    assert_eq!(call(&mut suspension, 0, CallEnd::Answered), None);
    for cause in [FailureKind::Unavailable, FailureKind::Error, FailureKind::Unavailable] {
        assert_eq!(call(&mut suspension, 0, failed(cause)), None);
    }
    assert!(call(&mut suspension, 0, failed(FailureKind::Unavailable)).is_some());
}

#[test]
fn retry_after_suspends_at_once_and_to_its_end() {
    let mut suspension = fresh();
    let early = allowed(&mut suspension, 0);
    let other = allowed(&mut suspension, 0);
    let suspended = Suspended { until: 90_000, cause: FailureKind::Unavailable, times: 1 };
    assert_eq!(call(&mut suspension, 0, busy(90)), Some(Transition::Suspended(suspended)));
    assert_eq!(suspension.judge(10, early, CallEnd::Answered, 0.0), None);
    assert_eq!(suspension.judge(1_000, other, busy(100), 0.0), None);
    assert_eq!(suspension.suspended(), Some(Suspended { until: 101_000, ..suspended }));
    assert!(is_refused(&mut suspension, 100_999));
    assert_eq!(call(&mut suspension, 101_000, CallEnd::Answered), Some(Transition::Recovered { times: 1 }));
    // Zero does not suspend; a day is the longest.
    assert_eq!(call(&mut suspension, 0, busy(0)), None);
    call(&mut suspension, 0, busy(10_000_000));
    assert_eq!(suspension.suspended().unwrap().until, 24 * 60 * 60 * 1_000);
}

#[test]
fn probe_is_single_and_replaced_when_cancelled() {
    let mut suspension = fresh();
    let until = fail(&mut suspension, 0, FailureKind::Timeout).until;
    let probe = allowed(&mut suspension, until);
    assert!(probe.is_probe());
    assert!((0..50).all(|later| is_refused(&mut suspension, until + later * 1_000)));
    suspension.release(probe);
    let probe = allowed(&mut suspension, until + 5);
    assert!(probe.is_probe() && is_refused(&mut suspension, until + 5));
    let change = suspension.judge(until + 7, probe, CallEnd::Answered, 0.5);
    assert_eq!(change, Some(Transition::Recovered { times: 1 }));
    assert!(!allowed(&mut suspension, until + 7).is_probe());
    assert_eq!(fail(&mut suspension, until + 8, FailureKind::Timeout).times, 1, "it counts anew");
}

#[test]
fn earlier_call_ends_a_suspension_but_does_not_prolong_it() {
    let mut suspension = fresh();
    let early: Vec<_> = (0..3).map(|_| allowed(&mut suspension, 0)).collect();
    let suspended = fail(&mut suspension, 0, FailureKind::Error);
    assert_eq!(suspension.judge(1, early[0], failed(FailureKind::Error), 0.0), None);
    assert_eq!(suspension.suspended(), Some(suspended), "one suspension for all that failed together");
    let change = suspension.judge(2, early[1], CallEnd::Answered, 0.0);
    assert_eq!(change, Some(Transition::Recovered { times: 1 }));
    for _ in 0..10 {
        assert_eq!(suspension.judge(3, early[2], failed(FailureKind::Error), 0.0), None);
    }
}

#[test]
fn registration_forgets_failures_and_calls_in_flight() {
    let mut suspension = fresh();
    let early = allowed(&mut suspension, 0);
    call(&mut suspension, 0, busy(60));
    suspension.reset();
    assert_eq!(suspension.suspended(), None);
    assert_eq!(suspension.judge(1, early, busy(60), 0.0), None);
    assert!(!allowed(&mut suspension, 1).is_probe());
}

#[test]
fn clock_that_goes_back_ends_a_suspension() {
    let mut suspension = fresh();
    fail(&mut suspension, 1_000_000, FailureKind::Unauthorized);
    assert!(allowed(&mut suspension, 999_999).is_probe());
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Passes(i64),
    Asks,
    Answers(usize),
    Fails(usize, FailureKind, Option<u64>),
    IsCancelled(usize),
    IsRegistered,
}

fn event() -> impl Strategy<Value = Event> {
    let cause = proptest::sample::select(CAUSES.to_vec());
    let retry_after = proptest::option::weighted(0.1, 0..200_u64);
    prop_oneof![
        3 => (0..40_000_i64).prop_map(Event::Passes),
        6 => Just(Event::Asks),
        1 => any::<usize>().prop_map(Event::Answers),
        6 => (any::<usize>(), cause, retry_after)
            .prop_map(|(call, cause, retry_after)| Event::Fails(call, cause, retry_after)),
        1 => any::<usize>().prop_map(Event::IsCancelled),
        1 => Just(Event::IsRegistered),
    ]
}

struct SuspensionModel {
    suspension: Suspension,
    now: i64,
    chance: f64,
    times: u32,
    in_flight: Vec<Permission>,
}

impl SuspensionModel {
    fn take(&mut self, call: usize) -> Option<Permission> {
        let calls = self.in_flight.len();
        (calls > 0).then(|| self.in_flight.swap_remove(call % calls))
    }

    fn admit(&mut self) {
        let before = self.suspension.suspended();
        match self.suspension.admit(self.now) {
            Ok(permission) => {
                assert_eq!(permission.is_probe(), before.is_some());
                assert!(before.is_none_or(|before| before.until <= self.now));
                assert!(
                    !permission.is_probe() || !self.in_flight.contains(&permission),
                    "two probes at once"
                );
                self.in_flight.push(permission);
            }
            Err(suspended) => {
                let is_probed = self.in_flight.iter().any(|call| self.is_current_probe(*call));
                assert!(Some(suspended) == before && (self.now < suspended.until || is_probed));
            }
        }
    }

    fn is_current_probe(&self, call: Permission) -> bool {
        call.is_probe() && call.epoch == self.suspension.epoch
    }

    fn answer(&mut self, call: Permission) {
        let is_probe = self.is_current_probe(call);
        let transition = self.suspension.judge(self.now, call, CallEnd::Answered, self.chance);
        if let Some(Transition::Recovered { times }) = transition {
            assert_eq!(times, self.times);
            self.times = 0;
        }
        if is_probe || transition.is_some() {
            assert_eq!(self.suspension.suspended(), None);
        }
    }

    fn fail(&mut self, call: Permission, cause: FailureKind, retry_after: Option<Duration>) {
        let is_registered = call.epoch >= self.suspension.registered_in;
        let is_probe = self.is_current_probe(call);
        let end = CallEnd::Failed { cause, retry_after };
        let transition = self.suspension.judge(self.now, call, end, self.chance);
        let requested = retry_after.unwrap_or_default();
        if is_registered && !requested.is_zero() {
            assert!(self.suspension.suspended().unwrap().until >= later(self.now, requested));
        }
        let Some(Transition::Suspended(suspended)) = transition else {
            assert!(!is_probe && transition.is_none());
            return;
        };
        self.times += 1;
        assert_eq!((suspended.times, suspended.cause), (self.times, cause));
        assert_eq!(self.suspension.suspended(), Some(suspended));
        let rule = *rule(&SuspensionSettings::default(), cause);
        let pause = Duration::from_millis(u64::try_from(suspended.until - self.now).unwrap());
        assert!(pause >= Duration::from_millis(rule.least_ms).max(requested));
        assert!(pause <= Duration::from_millis(rule.most_ms).max(requested));
    }

    fn cancel(&mut self, call: Permission) {
        let is_probe = self.is_current_probe(call);
        let before = self.suspension.suspended();
        self.suspension.release(call);
        assert_eq!(self.suspension.suspended(), before);
        if is_probe && before.is_some_and(|before| before.until <= self.now) {
            let next = allowed(&mut self.suspension, self.now);
            assert!(next.is_probe());
            self.suspension.release(next);
        }
    }

    fn meet(&mut self, event: Event) {
        match event {
            Event::Passes(time) => self.now += time,
            Event::Asks => self.admit(),
            Event::Answers(call) => {
                if let Some(call) = self.take(call) {
                    self.answer(call);
                }
            }
            Event::Fails(call, cause, retry_after) => {
                if let Some(call) = self.take(call) {
                    self.fail(call, cause, retry_after.map(Duration::from_secs));
                }
            }
            Event::IsCancelled(call) => {
                if let Some(call) = self.take(call) {
                    self.cancel(call);
                }
            }
            Event::IsRegistered => {
                self.suspension.reset();
                self.times = 0;
                assert_eq!(self.suspension.suspended(), None);
            }
        }
    }
}

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn any_events_keep_the_invariants(
        events in proptest::collection::vec(event(), 0..200),
        chance in 0.0..=1.0_f64,
    ) {
        let (now, times) = (1_000_000, 0);
        let mut model = SuspensionModel { suspension: fresh(), now, chance, times, in_flight: Vec::new() };
        for event in events {
            model.meet(event);
        }
    }

    #[test]
    fn answer_resets_failures(causes in proptest::collection::vec(proptest::sample::select(CAUSES.to_vec()), 0..40)) {
        let mut suspension = fresh();
        let mut now = 0;
        for cause in causes {
            call(&mut suspension, now, failed(cause));
            now = suspension.suspended().map_or(now, |suspended| suspended.until);
        }
        call(&mut suspension, now, CallEnd::Answered);
        prop_assert_eq!(suspension.suspended(), None);
        for cause in CAUSES {
            for _ in 1..rule(&SuspensionSettings::default(), cause).failures {
                prop_assert_eq!(call(&mut suspension, now, failed(cause)), None);
            }
        }
        prop_assert_eq!(fail(&mut suspension, now, FailureKind::Error).times, 1);
    }

    #[test]
    fn pauses_spread_within_their_bounds(
        times in 1..100_u32, chance in 0.0..=1.0_f64, least_ms in 1..10_000_u64, more_ms in 0..100_000_u64,
    ) {
        let rule = SuspensionRule { failures: 1, least_ms, most_ms: least_ms + more_ms };
        let (low, high) = (pause(&rule, times, 0.0), pause(&rule, times, 1.0));
        let found = pause(&rule, times, chance);
        prop_assert!(low <= found && found <= high);
        prop_assert!(Duration::from_millis(rule.least_ms) <= low);
        prop_assert!(high <= Duration::from_millis(rule.most_ms));
        prop_assert!(pause(&rule, times + 1, 0.0) >= low, "pauses shrink");
        prop_assert!(high > low || more_ms == 0, "several servers return at once");
    }
}
