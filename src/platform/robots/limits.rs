//! How often a robot may write (`limits.robot_messages_per_minute`, decisions 9.5), and how often it may be refused.
//!
//! A message counts when nothing else stands against it, so that one that is refused takes no other's place. Messages are counted
//! exactly: in whatever minute, there are never more. They count for the group as well, which may have as many as all robots that it
//! may have at once: whoever makes robots anew gets no more by it. Calls count too, before anything is read of them, at ten for
//! each message: a sender that is mistaken over and over is not worth more.

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

use super::model::ROBOTS_PER_GROUP;
use crate::error::{Error, Result};

/// Robots, and groups, of which something is counted; what was longest unused goes first.
const COUNTED: u64 = 100_000;

/// A count is whole again after a minute.
const COUNTED_FOR: Duration = Duration::from_mins(2);

/// For so long a message counts.
const MINUTE: Duration = Duration::from_mins(1);

/// Calls for each message that may be sent.
const CALLS_FOR_EACH: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);

/// What robots did lately.
pub struct RobotLimits {
    messages: NonZeroU32,
    calls: NonZeroU32,
    messages_of_group: usize,
    /// By the robot's id: another token is no other robot.
    robots: Cache<String, Arc<Counted>>,
    /// By the group's id.
    groups: Cache<String, Arc<Mutex<Times>>>,
}

#[derive(Debug)]
struct Counted {
    messages: Mutex<Times>,
    calls: DefaultDirectRateLimiter,
}

impl RobotLimits {
    /// Nothing was sent yet, and so many messages of each robot may be in a minute.
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

    /// Counts a call with a robot's token.
    ///
    /// # Errors
    /// 429.
    pub fn count_call(&self, robot_id: &str) -> Result<()> {
        self.robot(robot_id).calls.check().map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Error::too_many_requests(
                format!("more than {} calls of this robot in a minute", self.calls),
                wait,
            )
        })
    }

    /// Counts a message that a robot of the group sends now.
    ///
    /// # Errors
    /// 429, and the message does not count.
    pub fn count_message(&self, robot_id: &str, group_id: &str, now: Instant) -> Result<()> {
        let robot = self.robot(robot_id);
        let group = self.groups.get_with_by_ref(group_id, Arc::default);
        let (mut of_robot, mut of_group) = (lock(&robot.messages), lock(&group));
        for (times, most, whose) in [
            (&mut of_robot, self.messages.get() as usize, "this robot"),
            (&mut of_group, self.messages_of_group, "all robots of the group"),
        ] {
            if let Some(wait) = times.wait(most, now) {
                return Err(Error::too_many_requests(
                    format!("more than {most} messages of {whose} in a minute"),
                    wait,
                ));
            }
        }
        of_robot.0.push_back(now);
        of_group.0.push_back(now);
        Ok(())
    }

    fn robot(&self, id: &str) -> Arc<Counted> {
        self.robots.get_with_by_ref(id, || {
            let calls = RateLimiter::direct(Quota::per_minute(self.calls));
            Arc::new(Counted { messages: Mutex::default(), calls })
        })
    }
}

fn cache<V: Clone + Send + Sync + 'static>() -> Cache<String, V> {
    let policy = EvictionPolicy::lru();
    Cache::builder().max_capacity(COUNTED).time_to_idle(COUNTED_FOR).eviction_policy(policy).build()
}

fn lock(times: &Mutex<Times>) -> MutexGuard<'_, Times> {
    times.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When the messages of the last minute were sent, the oldest first: as many as may be at the most.
#[derive(Debug, Default)]
struct Times(VecDeque<Instant>);

impl Times {
    /// How long the next message has to wait where so many may be in a minute, in whole seconds, as `Retry-After` tells it.
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
    fn each_robot_has_its_own_count_and_calls_count_apart() {
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
    fn a_place_is_free_a_minute_after_the_message_that_had_it_and_not_before() {
        let (limits, start) = (RobotLimits::new(2), Instant::now());
        let send = |after: Duration| limits.count_message("robot", "group", start + after);
        send(Duration::ZERO).unwrap();
        send(30 * SECOND).unwrap();
        // Whoever comes back when he was told to is let in.
        let early = send(Duration::from_millis(30_500)).unwrap_err();
        assert_eq!(early.retry_after, Some(30 * SECOND));
        assert_eq!(send(Duration::from_millis(59_999)).unwrap_err().retry_after, Some(SECOND));
        send(MINUTE).unwrap();
        assert_eq!(send(MINUTE).unwrap_err().retry_after, Some(30 * SECOND));
        send(90 * SECOND).unwrap();
    }

    #[test]
    fn robots_that_are_made_anew_have_what_their_group_may_have() {
        let (limits, now) = (RobotLimits::new(2), Instant::now());
        for robot in 0..20 {
            for _ in 0..2 {
                limits.count_message(&robot.to_string(), "group", now).unwrap();
            }
        }
        let refused = limits.count_message("anew", "group", now).unwrap_err();
        assert!(refused.message.contains("more than 40 messages of all robots"), "{refused}");
        limits.count_message("elsewhere", "another group", now).unwrap();
        // What was refused took no place of the robot's.
        for _ in 0..2 {
            limits.count_message("anew", "group", now + MINUTE).unwrap();
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(200))]

        /// However they come, no minute has more, and one is refused only where the last minute is full.
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
