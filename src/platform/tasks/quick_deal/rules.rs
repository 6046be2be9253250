//! Rules of quick handling (book: reference/tasks.md).

use aws_lc_rs::hmac;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::{
    error::{Error, Result},
    platform::tasks::{
        forms::Task,
        repo::StoredTask,
        service::{TaskActor, TaskRole, absent},
        states::{TaskMove, TaskStatus, after},
    },
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handling {
    /// The task with its current `status`.
    pub(super) task: Task,
    pub(super) callback: String,
    pub(super) target: TaskStatus,
}

impl Handling {
    /// 404 if invisible, 403 if not theirs, 409 if status or application rule it out.
    pub(super) fn of(row: &StoredTask, actor: &TaskActor) -> Result<Self> {
        match actor.role(row)? {
            None => return Err(absent()),
            Some(TaskRole::Assignee) => {}
            Some(_) => return Err(Error::forbidden("only the assignee may handle this task")),
        }
        Self::check(row.status()?, serde_json::from_str(&row.task).map_err(Error::internal)?)
    }

    fn check(status: TaskStatus, mut task: Task) -> Result<Self> {
        let target = after(status, TaskMove::Complete, None).ok_or_else(|| {
            let name = status.name();
            Error::conflict(format!("this task is {name}; only one that is to-do or to-read can be handled"))
        })?;
        task.status = Some(status.number());
        // True, the default, means not supported.
        if task.quick_deal.unwrap_or(true) {
            let refusal = "quickDeal: this task does not support quick handling (quickDeal is true)";
            return Err(Error::conflict(refusal));
        }
        let callback = task.quick_deal_callback.clone().filter(|callback| !callback.is_empty());
        let callback = callback.ok_or_else(|| {
            Error::conflict("quickDealCallback: this task has none, so it cannot be handled quickly")
        })?;
        Ok(Self { task, callback, target })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskInfo<'a> {
    #[serde(flatten)]
    pub(super) task: &'a Task,
    pub(super) id: &'a str,
    pub(super) handler_login_id: &'a str,
    pub(super) handled_at: i64,
}

impl TaskInfo<'_> {
    /// Callbacks detect repeated deliveries by it.
    pub(super) fn delivery(&self) -> String {
        format!("{}-{}", self.id, self.handled_at)
    }
}

/// `X-Trawl-Signature`, sent at epoch `seconds`.
pub(super) fn sign(key: &SecretString, seconds: i64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose_secret().as_bytes());
    let mut signed = hmac::Context::with_key(&key);
    signed.update(format!("{seconds}.").as_bytes());
    signed.update(body);
    format!("t={seconds},v1={}", hex::encode(signed.sign()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_is_hmac_sha256_over_time_and_body() {
        let signed = sign(&"schlüssel".into(), 1_700_000_000, "{\"title\":\"批准\"}".as_bytes());
        let code = "eba0d80a80ab3515e66dba9413a78ea8b8922eff7c4ceb32a7c70599640ec184";
        assert_eq!(signed, format!("t=1700000000,v1={code}"));
        let code = "c5009ac9fb219943cae5947bf5ea45251fc6f7bb84976c7a02e94799d5d100a9";
        assert_eq!(sign(&"Jefe".into(), 1, b""), format!("t=1,v1={code}"));
    }
}
