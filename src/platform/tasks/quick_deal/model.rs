//! What may be handled quickly, what its application is told, and how that is signed (decisions 8.3), without I/O.

use aws_lc_rs::hmac;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::{
    error::{Error, Result},
    platform::tasks::{
        model::Task,
        moves::{Actor, Standing, absent},
        repo::Row,
        states::{Move, TaskStatus, after},
    },
};

/// A task that may be handled quickly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handling {
    /// Its content; `status` is the state that it is in.
    pub(super) task: Task,
    /// Where its application is told.
    pub(super) callback: String,
    /// The state that it leads to.
    pub(super) target: TaskStatus,
}

impl Handling {
    /// Quick handling of this task by this person.
    ///
    /// # Errors
    /// 404 where it does not exist for him, 403 where he may see but not handle it, 409 where its state or its application
    /// does not allow it.
    pub(super) fn of(row: &Row, actor: &Actor) -> Result<Self> {
        match actor.standing(row)? {
            None => return Err(absent()),
            Some(Standing::Assignee) => {}
            Some(_) => return Err(Error::forbidden("only the assignee may handle this task")),
        }
        Self::check(row.status()?, serde_json::from_str(&row.task).map_err(Error::internal)?)
    }

    /// Quick handling of a task of this content that is in this state.
    fn check(status: TaskStatus, mut task: Task) -> Result<Self> {
        let target = after(status, Move::Complete, None).ok_or_else(|| {
            let name = status.name();
            Error::conflict(format!("this task is {name}; only one that is to-do or to-read can be handled"))
        })?;
        task.status = Some(status.number());
        // True means that it is not supported, which is what an application that says nothing means.
        if task.quick_deal.unwrap_or(true) {
            let refusal = "quickDeal: this task does not support quick handling (it is true)";
            return Err(Error::conflict(refusal));
        }
        let callback = task.quick_deal_callback.clone().filter(|callback| !callback.is_empty());
        let callback = callback.ok_or_else(|| {
            Error::conflict("quickDealCallback: this task has none, so it cannot be handled quickly")
        })?;
        Ok(Self { task, callback, target })
    }
}

/// What the callback is told: the task's fields, and who handles it when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskInfo<'a> {
    /// The task.
    #[serde(flatten)]
    pub(super) task: &'a Task,
    /// The platform's to-do id.
    pub(super) id: &'a str,
    /// The login account of the person who handles it.
    pub(super) handler_login_id: &'a str,
    /// When, epoch milliseconds.
    pub(super) handled_at: i64,
}

impl TaskInfo<'_> {
    /// Names this quick handling, and no other one: what the callback may tell a repeated delivery by.
    pub(super) fn delivery(&self) -> String {
        format!("{}-{}", self.id, self.handled_at)
    }
}

/// The text of `X-Trawl-Signature` for a body that is sent at this time, epoch seconds.
pub(super) fn sign(key: &SecretString, seconds: i64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose_secret().as_bytes());
    let mut signed = hmac::Context::with_key(&key);
    signed.update(format!("{seconds}.").as_bytes());
    signed.update(body);
    format!("t={seconds},v1={}", hex::encode(signed.sign()))
}

#[cfg(test)]
mod tests;
