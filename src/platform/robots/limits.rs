//! How often a robot may write (`limits.robot_messages_per_minute`, decisions 9.5), and how often it may be refused.
//!
//! A message counts when nothing else stands against it, so that one that is refused takes no other's place. Calls count too,
//! before anything is read of them, at ten for each message: a sender that is mistaken over and over is not worth more.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    DefaultDirectRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use moka::sync::Cache;

use crate::error::{Error, Result};

/// Robots of which something is counted; what was longest unused goes first.
const COUNTED: u64 = 100_000;

/// A count is whole again after a minute.
const COUNTED_FOR: Duration = Duration::from_mins(2);

/// Calls for each message that may be sent.
const CALLS_FOR_EACH: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);

/// What robots did lately.
pub struct RobotLimits {
    messages: NonZeroU32,
    calls: NonZeroU32,
    /// By the robot's id: another token is no other robot.
    robots: Cache<String, Arc<Counted>>,
}

struct Counted {
    messages: DefaultDirectRateLimiter,
    calls: DefaultDirectRateLimiter,
}

impl RobotLimits {
    /// Nothing was sent yet, and so many messages of each robot may be in a minute.
    pub fn new(per_minute: u32) -> Self {
        let messages = NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN);
        let robots = Cache::builder().max_capacity(COUNTED).time_to_idle(COUNTED_FOR).build();
        Self { messages, calls: messages.saturating_mul(CALLS_FOR_EACH), robots }
    }

    /// Counts a call with a robot's token.
    ///
    /// # Errors
    /// 429.
    pub fn count_call(&self, robot_id: &str) -> Result<()> {
        check(&self.counted(robot_id).calls, || {
            format!("more than {} calls of this robot in a minute", self.calls)
        })
    }

    /// Counts a message.
    ///
    /// # Errors
    /// 429.
    pub fn count_message(&self, robot_id: &str) -> Result<()> {
        check(&self.counted(robot_id).messages, || {
            format!("more than {} messages of this robot in a minute", self.messages)
        })
    }

    fn counted(&self, robot_id: &str) -> Arc<Counted> {
        self.robots.get_with_by_ref(robot_id, || {
            let limiter = |most| RateLimiter::direct(Quota::per_minute(most));
            Arc::new(Counted { messages: limiter(self.messages), calls: limiter(self.calls) })
        })
    }
}

fn check(limiter: &DefaultDirectRateLimiter, refusal: impl FnOnce() -> String) -> Result<()> {
    limiter.check().map_err(|until| {
        Error::too_many_requests(refusal(), until.wait_time_from(DefaultClock::default().now()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_robot_has_its_own_count_and_calls_count_apart() {
        let limits = RobotLimits::new(1);
        limits.count_message("one").unwrap();
        let refused = limits.count_message("one").unwrap_err();
        assert!(refused.message.contains("more than 1 messages"), "{refused}");
        assert!(refused.retry_after.unwrap() <= Duration::from_mins(1), "{refused:?}");
        limits.count_message("other").unwrap();
        for _ in 0..10 {
            limits.count_call("one").unwrap();
        }
        assert!(limits.count_call("one").unwrap_err().message.contains("more than 10 calls"));
    }
}
