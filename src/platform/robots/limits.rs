//! Rate limits of robots (`limits.robot_messages_per_minute`, decisions 9.5).
//!
//! Counts are exact over a sliding minute, without rejected messages. New robots share their group's limit. Calls are limited before their
//! body is read.

use std::{
    collections::VecDeque,
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use governor::{
    DefaultDirectRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use moka::{policy::EvictionPolicy, sync::Cache};

use super::forms::ROBOTS_PER_GROUP;
use crate::error::{Error, Result};

/// Least recently used counts are evicted.
const COUNTED: u64 = 100_000;

/// Above a minute, so that dropped counts are empty.
const COUNTED_FOR: Duration = Duration::from_mins(2);

const MINUTE: Duration = Duration::from_mins(1);

const CALLS_FOR_EACH: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);

/// Recent calls and messages.
pub struct RobotLimits {
    messages: NonZeroU32,
    calls: NonZeroU32,
    messages_of_group: usize,
    /// By robot id, so that a new token keeps the count.
    robots: Cache<String, Arc<RobotCounts>>,
    groups: Cache<String, Arc<Mutex<SendTimes>>>,
}

#[derive(Debug)]
struct RobotCounts {
    messages: Mutex<SendTimes>,
    calls: DefaultDirectRateLimiter,
}

impl RobotLimits {
    /// Messages per robot and minute.
    pub fn new(per_minute: u32) -> Self {
        let messages = NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN);
        let robots = usize::try_from(ROBOTS_PER_GROUP).unwrap_or(usize::MAX);
        Self {
            messages,
            calls: messages.saturating_mul(CALLS_FOR_EACH),
            messages_of_group: (messages.get() as usize).saturating_mul(robots),
            robots: cache(),
            groups: cache(),
        }
    }

    /// Counts a call; 429 above the limit.
    pub fn count_call(&self, robot_id: &str) -> Result<()> {
        self.robot(robot_id).calls.check().map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Error::too_many_requests(
                format!("more than {} calls of this robot in a minute", self.calls),
                wait,
            )
        })
    }

    /// Counts a message unless above the limit (429).
    pub fn count_message(&self, robot_id: &str, group_id: &str, now: Instant) -> Result<()> {
        let robot = self.robot(robot_id);
        let group = self.groups.get_with_by_ref(group_id, Arc::default);
        let (mut of_robot, mut of_group) = (lock(&robot.messages), lock(&group));
        for (times, most, sender) in [
            (&mut of_robot, self.messages.get() as usize, "this robot"),
            (&mut of_group, self.messages_of_group, "all robots of the group"),
        ] {
            if let Some(wait) = times.wait(most, now) {
                return Err(Error::too_many_requests(
                    format!("more than {most} messages of {sender} in a minute"),
                    wait,
                ));
            }
        }
        of_robot.0.push_back(now);
        of_group.0.push_back(now);
        Ok(())
    }

    fn robot(&self, id: &str) -> Arc<RobotCounts> {
        self.robots.get_with_by_ref(id, || {
            let calls = RateLimiter::direct(Quota::per_minute(self.calls));
            Arc::new(RobotCounts { messages: Mutex::default(), calls })
        })
    }
}

fn cache<V: Clone + Send + Sync + 'static>() -> Cache<String, V> {
    let policy = EvictionPolicy::lru();
    Cache::builder().max_capacity(COUNTED).time_to_idle(COUNTED_FOR).eviction_policy(policy).build()
}

fn lock(times: &Mutex<SendTimes>) -> MutexGuard<'_, SendTimes> {
    times.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Default)]
struct SendTimes(VecDeque<Instant>);

impl SendTimes {
    fn wait(&mut self, most: usize, now: Instant) -> Option<Duration> {
        while self.0.pop_front_if(|sent| now.saturating_duration_since(*sent) >= MINUTE).is_some() {}
        if self.0.len() < most {
            return None;
        }
        let wait = MINUTE.saturating_sub(now.saturating_duration_since(*self.0.front()?));
        Some(Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn robots_and_their_calls_are_counted_separately() {
        let (limits, now) = (RobotLimits::new(1), Instant::now());
        limits.count_message("one", "group", now).unwrap();
        let refused = limits.count_message("one", "group", now).unwrap_err();
        assert!(refused.message.contains("more than 1 messages of this robot"), "{refused}");
        assert_eq!(refused.retry_after, Some(MINUTE));
        limits.count_message("other", "group", now).unwrap();
        for _ in 0..10 {
            limits.count_call("one").unwrap();
        }
        assert!(limits.count_call("one").unwrap_err().message.contains("more than 10 calls"));
    }

    #[test]
    fn message_count_expires_after_exactly_one_minute() {
        let (limits, start) = (RobotLimits::new(2), Instant::now());
        let send = |after: Duration| limits.count_message("robot", "group", start + after);
        send(Duration::ZERO).unwrap();
        send(30 * SECOND).unwrap();
        let early = send(Duration::from_millis(30_500)).unwrap_err();
        assert_eq!(early.retry_after, Some(30 * SECOND));
        assert_eq!(send(Duration::from_millis(59_999)).unwrap_err().retry_after, Some(SECOND));
        send(MINUTE).unwrap();
        assert_eq!(send(MINUTE).unwrap_err().retry_after, Some(30 * SECOND));
        send(90 * SECOND).unwrap();
    }

    #[test]
    fn new_robots_share_the_limit_of_their_group() {
        let (limits, now) = (RobotLimits::new(2), Instant::now());
        for robot in 0..20 {
            for _ in 0..2 {
                limits.count_message(&robot.to_string(), "group", now).unwrap();
            }
        }
        let refused = limits.count_message("anew", "group", now).unwrap_err();
        assert!(refused.message.contains("more than 40 messages of all robots"), "{refused}");
        limits.count_message("elsewhere", "another group", now).unwrap();
        for _ in 0..2 {
            limits.count_message("anew", "group", now + MINUTE).unwrap();
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(200))]

        #[test]
        fn no_minute_has_more(most in 1_u32..6, gaps in prop::collection::vec(0_u64..25_000, 0..80)) {
            let (limits, start) = (RobotLimits::new(most), Instant::now());
            let (mut now, mut taken) = (start, Vec::<Instant>::new());
            for gap in gaps {
                now += Duration::from_millis(gap);
                let of_last_minute = taken.iter().filter(|sent| now - **sent < MINUTE).count();
                let is_taken = limits.count_message("robot", "group", now).is_ok();
                prop_assert_eq!(is_taken, of_last_minute < most as usize);
                if is_taken {
                    taken.push(now);
                }
            }
        }
    }
}
