//! Rate limits of robots (`limits.robot_messages_per_minute`).
//!
//! Stored messages are counted exactly, in a sliding minute over all replicas. New robots share their group's limit. Each process limits
//! calls before it reads their body.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    DefaultDirectRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use moka::{policy::EvictionPolicy, sync::Cache};

use super::{
    forms::ROBOTS_PER_GROUP,
    repo::{messages, robots::Sender},
};
use crate::{
    error::{Error, Result},
    store::Transaction,
};

/// Least recently used counts are evicted.
const COUNTED: u64 = 100_000;

/// Idle time of counts: above a minute, so dropped ones are empty.
const COUNTED_FOR: Duration = Duration::from_mins(2);

/// Milliseconds.
const MINUTE: i64 = 60 * 1_000;

const CALLS_FOR_EACH: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);

/// Limits of calls and messages.
pub struct RobotLimits {
    messages: NonZeroU32,
    messages_of_group: u32,
    calls_per_minute: NonZeroU32,
    /// Counts by robot id, so that a new token keeps the count.
    calls: Cache<String, Arc<DefaultDirectRateLimiter>>,
}

impl RobotLimits {
    /// Messages per robot and minute.
    pub fn new(per_minute: u32) -> Self {
        let messages = NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN);
        let robots = u32::try_from(ROBOTS_PER_GROUP).unwrap_or(u32::MAX);
        let policy = EvictionPolicy::lru();
        let calls = Cache::builder().max_capacity(COUNTED).time_to_idle(COUNTED_FOR).eviction_policy(policy);
        Self {
            messages,
            messages_of_group: messages.get().saturating_mul(robots),
            calls_per_minute: messages.saturating_mul(CALLS_FOR_EACH),
            calls: calls.build(),
        }
    }

    /// Counts a call; 429 above the limit.
    pub fn count_call(&self, robot_id: &str) -> Result<()> {
        let quota = Quota::per_minute(self.calls_per_minute);
        let calls = self.calls.get_with_by_ref(robot_id, || Arc::new(RateLimiter::direct(quota)));
        calls.check().map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Error::too_many_requests(
                format!("more than {} calls of this robot in a minute", self.calls_per_minute),
                wait,
            )
        })
    }

    /// Refuses a message above the limit (429), at epoch milliseconds.
    pub(super) async fn check_message(
        &self,
        transaction: &Transaction,
        sender: &Sender,
        now: i64,
    ) -> Result<()> {
        let (of_robot, of_group) = (self.messages.get(), self.messages_of_group);
        let earlier = messages::latest(transaction, sender, now - MINUTE, of_robot, of_group).await?;
        for (sent, most, robots) in [
            (earlier.of_robot, of_robot, "this robot"),
            (earlier.of_group, of_group, "all robots of the group"),
        ] {
            if let Some(sent) = sent {
                let message = format!("more than {most} messages of {robots} in a minute");
                return Err(Error::too_many_requests(message, wait(sent, now)));
            }
        }
        Ok(())
    }
}

/// Whole seconds until a message is a minute old.
///
/// At most a minute, if the clock was put back.
fn wait(sent: i64, now: i64) -> Duration {
    let millis = (sent + MINUTE - now).clamp(0, MINUTE);
    Duration::from_secs(millis.unsigned_abs().div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        platform::robots::forms::Message,
        store::{Store, sql},
    };

    const START: i64 = 1_700_000_000_000;

    const SECOND: i64 = 1_000;

    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Sent {
        Taken,
        /// Message and whole seconds to wait.
        Refused(String, u64),
    }

    fn refused(most: u32, robots: &str, wait: u64) -> Sent {
        Sent::Refused(format!("more than {most} messages of {robots} in a minute"), wait)
    }

    /// Sends messages in a new group: the robot's id, and milliseconds since the start.
    async fn send_all(store: &Store, per_minute: u32, messages: Vec<(String, i64)>) -> Vec<Sent> {
        let job = store.write(move |transaction| {
            Box::pin(async move {
                let group_id = uuid::Uuid::new_v4().to_string();
                for text in [
                    "INSERT INTO tenants (id, code, name, created_at) VALUES (1, 'acme', ?, 0) ON CONFLICT DO NOTHING",
                    "INSERT INTO groups (id, tenant_id, name, type, is_public, is_third, created_by, created_at, \
                     updated_at) VALUES (?, 1, 'tide', 2, FALSE, FALSE, 'mei', 0, 0)",
                ] {
                    sql(text, [group_id.as_str().into()]).execute(transaction).await?;
                }
                let limits = RobotLimits::new(per_minute);
                let body = br#"{"msgType": "text", "content": {"text": "tide"}}"#;
                let message = Message::read(body).map_err(Error::bad_request)?;
                let mut outcomes = Vec::new();
                for (id, after) in messages {
                    let sender = Sender {
                        id,
                        name: "gauge".to_owned(),
                        group_id: group_id.clone(),
                        group_name: "tide".to_owned(),
                        tenant_id: 1,
                        is_frozen: false,
                    };
                    let now = START + after;
                    outcomes.push(match limits.check_message(transaction, &sender, now).await {
                        Ok(()) => {
                            messages::insert(transaction, &sender, &message, now).await?;
                            Sent::Taken
                        }
                        Err(error) => {
                            Sent::Refused(error.message, error.retry_after.unwrap_or_default().as_secs())
                        }
                    });
                }
                Ok(outcomes)
            })
        });
        job.await.unwrap()
    }

    async fn send(per_minute: u32, messages: &[(&str, i64)]) -> Vec<Sent> {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let messages = messages.iter().map(|(robot, after)| ((*robot).to_owned(), *after)).collect();
        let outcomes = send_all(&store, per_minute, messages).await;
        store.close().await.unwrap();
        outcomes
    }

    #[tokio::test]
    async fn message_count_expires_after_exactly_one_minute() {
        let times = [0, 30 * SECOND, 30_500, 59_999, MINUTE, MINUTE + 1, 90 * SECOND];
        let outcomes = send(2, &times.map(|after| ("robot", after))).await;
        let again = |wait| refused(2, "this robot", wait);
        let expected = [Sent::Taken, Sent::Taken, again(30), again(1), Sent::Taken, again(30), Sent::Taken];
        assert_eq!(outcomes, expected);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(40))]

        #[test]
        fn no_minute_has_more(most in 1_u32..6, gaps in prop::collection::vec(1_i64..25_000, 0..80)) {
            let times: Vec<i64> =
                gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
            let robot: Vec<(&str, i64)> = times.iter().map(|after| ("robot", *after)).collect();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let outcomes = runtime.block_on(send(most, &robot));
            let mut taken = Vec::<i64>::new();
            for (now, outcome) in times.into_iter().zip(outcomes) {
                let of_last_minute = taken.iter().filter(|sent| now - **sent < MINUTE).count();
                prop_assert_eq!(outcome == Sent::Taken, of_last_minute < most as usize);
                if outcome == Sent::Taken {
                    taken.push(now);
                }
            }
        }
    }
}
