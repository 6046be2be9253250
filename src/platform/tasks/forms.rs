//! Task forms and responses.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trawl_connectors::check_action;
use url::Url;
use uuid::Uuid;

pub use super::states::TaskStatus;
use crate::{
    error::{Error, Result},
    platform::shared::patch::{ID_BYTES, TextRule},
    store::FromRow,
};

const ID: TextRule = TextRule::Line(ID_BYTES);
const LOGIN: TextRule = TextRule::Line(256);
const NAME: TextRule = TextRule::Lines(256);
const TITLE: TextRule = TextRule::Lines(4 << 10);
const ADDRESS: TextRule = TextRule::Line(4 << 10);
const OTHER: TextRule = TextRule::Lines(64 << 10);

/// A to-do or done item as sent and stored, to detect repeated requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Task {
    /// Item id, unique in the originating application.
    #[schema(required)]
    pub app_task_id: String,
    /// Title.
    #[schema(required)]
    pub title: String,
    /// Source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Sender: user id of the synchronising party.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator_id: Option<String>,
    /// Sender name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator_name: Option<String>,
    /// Urgency: 0 ordinary (default), 1 urgent, 2 extremely urgent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degree: Option<i64>,
    /// Process id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proc_inst_id: Option<String>,
    /// Process name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proc_inst_title: Option<String>,
    /// Process status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proc_inst_status: Option<String>,
    /// Process creator id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proc_creator_id: Option<String>,
    /// Process creator name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proc_creator_name: Option<String>,
    /// Handler's account; may be unknown to the directory.
    #[schema(required)]
    pub assignee_login_id: String,
    /// Task parameters: a JSON map in a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_data: Option<String>,
    /// Labels: a JSON array in a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    /// Click action: a JSON object in a string, by client kind. Values are lines: `[OpenApp]` with `appCode=…` and
    /// `appUrl=…`, or `[OpenUrl]` with `url=…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Whether quick handling is *not* supported; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_deal: Option<bool>,
    /// Callback address of quick handling: http or https, without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_deal_callback: Option<String>,
    /// To-do form: 0 to-do (default), 2 to-read. Done form: 1 done (default), 4 read, 5 withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    /// Handling remark; done form only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_comment: Option<String>,
    /// Handling result; done form only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_result: Option<String>,
}

/// Form of a sent task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskForm {
    /// `/api/todo/create`.
    ToDo,
    /// `/api/done/create`.
    Done,
}

impl TaskForm {
    fn status(self, number: Option<i64>) -> Result<TaskStatus, String> {
        match (self, number) {
            (Self::ToDo, None | Some(0)) => Ok(TaskStatus::ToDo),
            (Self::ToDo, Some(2)) => Ok(TaskStatus::ToRead),
            (Self::ToDo, Some(other)) => {
                Err(format!("status: must be 0 (to-do) or 2 (to-read), not {other}"))
            }
            (Self::Done, None | Some(1)) => Ok(TaskStatus::Done),
            (Self::Done, Some(4)) => Ok(TaskStatus::Read),
            (Self::Done, Some(5)) => Ok(TaskStatus::Withdrawn),
            (Self::Done, Some(other)) => {
                Err(format!("status: must be 1 (done), 4 (read) or 5 (withdrawn), not {other}"))
            }
        }
    }
}

impl Task {
    /// Validates the task, sets defaults and drops empty texts.
    ///
    /// The error names the field.
    pub fn checked(mut self, form: TaskForm) -> Result<(Self, TaskStatus), String> {
        if form == TaskForm::ToDo {
            (self.end_comment, self.end_result) = (None, None);
        }
        let status = form.status(self.status)?;
        self.status = Some(status.number());
        self.quick_deal.get_or_insert(true);
        let degree = *self.degree.get_or_insert(0);
        if !(0..=2).contains(&degree) {
            return Err(format!(
                "degree: must be 0 (ordinary), 1 (urgent) or 2 (extremely urgent), not {degree}"
            ));
        }
        let required = [
            ("appTaskId", &self.app_task_id, ID),
            ("title", &self.title, TITLE),
            ("assigneeLoginId", &self.assignee_login_id, LOGIN),
        ];
        for (name, text, rule) in required {
            if text.trim().is_empty() {
                return Err(format!("{name}: is required"));
            }
            rule.check(name, text)?;
        }
        self.check_optional_texts()?;
        Ok((self, status))
    }

    fn check_optional_texts(&mut self) -> Result<(), String> {
        let bounded = [
            ("source", &mut self.source, NAME),
            ("creatorId", &mut self.creator_id, ID),
            ("creatorName", &mut self.creator_name, NAME),
            ("procInstId", &mut self.proc_inst_id, ID),
            ("procInstTitle", &mut self.proc_inst_title, TITLE),
            ("procInstStatus", &mut self.proc_inst_status, NAME),
            ("procCreatorId", &mut self.proc_creator_id, ID),
            ("procCreatorName", &mut self.proc_creator_name, NAME),
            ("appData", &mut self.app_data, OTHER),
            ("tags", &mut self.tags, OTHER),
            ("action", &mut self.action, OTHER),
            ("quickDealCallback", &mut self.quick_deal_callback, ADDRESS),
            ("endComment", &mut self.end_comment, OTHER),
            ("endResult", &mut self.end_result, OTHER),
        ];
        for (name, field, rule) in bounded {
            *field = field.take().filter(|text| !text.is_empty());
            field.as_ref().map_or(Ok(()), |text| rule.check(name, text))?;
        }
        if !holds::<Map<String, Value>>(self.app_data.as_deref()) {
            return Err("appData: must be a JSON map in a string".to_owned());
        }
        if !holds::<Vec<Value>>(self.tags.as_deref()) {
            return Err("tags: must be a JSON array in a string".to_owned());
        }
        if let Some(Err(reason)) = self.action.as_deref().map(check_action) {
            return Err(format!(
                "action: must be a JSON object in a string, keyed by client kind, whose values are texts of [OpenApp] with \
                 appCode= and appUrl= lines, or of [OpenUrl] with a url= line; this one {reason}"
            ));
        }
        if !self.quick_deal_callback.as_deref().is_none_or(is_address) {
            return Err("quickDealCallback: must be an http or https address without credentials".to_owned());
        }
        Ok(())
    }
}

fn holds<T: serde::de::DeserializeOwned>(text: Option<&str>) -> bool {
    text.is_none_or(|text| serde_json::from_str::<T>(text).is_ok())
}

/// Format only; the call checks whether the address is allowed.
fn is_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

/// A task created now, or earlier with the same content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTask {
    /// Platform's to-do id.
    pub id: String,
    /// Application's own id.
    pub app_task_id: String,
}

/// A task of a batch that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedTask {
    /// Platform's id of the existing task, if it exists with other content.
    pub id: Option<String>,
    /// Reason.
    pub message: String,
    /// Application's own id; empty if missing.
    pub app_task_id: String,
}

/// Result of a batch; both lists keep the request's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct BatchResult {
    /// Tasks created now, or earlier with the same content.
    pub success: Vec<CreatedTask>,
    /// Failed tasks.
    pub error: Vec<FailedTask>,
}

/// Task to insert.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Platform's id.
    pub id: String,
    /// Content.
    pub task: Task,
    /// JSON, serialised outside the single writer.
    pub text: String,
    /// Initial status.
    pub status: TaskStatus,
    /// Epoch milliseconds.
    pub created_at: i64,
}

impl NewTask {
    /// 500 if the task cannot be serialised.
    pub fn new(task: Task, status: TaskStatus, created_at: i64) -> Result<Self> {
        let text = serde_json::to_string(&task).map_err(Error::internal)?;
        Ok(Self { id: Uuid::now_v7().to_string(), task, text, status, created_at })
    }

    /// Compares with a stored task; 500 if it is malformed.
    pub fn is_same(&self, stored: &str) -> Result<bool> {
        // An earlier version may have written another text.
        Ok(self.text == stored || serde_json::from_str::<Task>(stored).map_err(Error::internal)? == self.task)
    }
}

/// How a task ended; absent keeps the stored value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Remark.
    pub end_comment: Option<String>,
    /// Result.
    pub end_result: Option<String>,
}

impl Ending {
    /// Drops empty texts; the error names the field.
    pub fn checked(end_comment: Option<String>, end_result: Option<String>) -> Result<Self, String> {
        let ending = Self {
            end_comment: end_comment.filter(|text| !text.is_empty()),
            end_result: end_result.filter(|text| !text.is_empty()),
        };
        for (name, text) in [("endComment", &ending.end_comment), ("endResult", &ending.end_result)] {
            text.as_ref().map_or(Ok(()), |text| OTHER.check(name, text))?;
        }
        Ok(ending)
    }
}

/// A task as shown, with current `status`, `endComment` and `endResult`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskDetails {
    /// Platform's to-do id.
    pub id: String,
    /// Task fields.
    #[serde(flatten)]
    pub task: Task,
    /// Quick handlings, oldest first.
    pub quick_deal_log: Vec<QuickDealEntry>,
}

/// A quick handling of a task.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuickDealEntry {
    /// Login account of the handler.
    pub handler_login_id: String,
    /// Start time, epoch milliseconds.
    pub handled_at: i64,
    /// Outcome; `begun` while under way.
    pub outcome: String,
    /// Reason of a failure.
    pub message: Option<String>,
    /// Duration of the callback, milliseconds.
    pub took_ms: Option<i64>,
}

/// Returns consecutive milliseconds up to `now`.
///
/// Tasks of one batch get distinct times, so that their order is definite.
pub fn spread_times(count: usize, now: i64) -> impl Iterator<Item = i64> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    (now - count + 1)..=now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_content_is_distinguished_from_other() {
        let task = Task { title: "Approve".to_owned(), ..Task::default() };
        let new = NewTask::new(task.clone(), TaskStatus::ToDo, 1).unwrap();
        assert!(new.is_same(&new.text).unwrap());
        assert!(new.is_same(&format!(" {}", new.text)).unwrap());
        let other = Task { degree: Some(1), ..task };
        assert!(!new.is_same(&serde_json::to_string(&other).unwrap()).unwrap());
        assert!(new.is_same("{").is_err());
    }

    #[test]
    fn ending_is_bounded_and_empty_text_dropped() {
        let long = || Some("x".repeat((64 << 10) + 1));
        assert!(Ending::checked(long(), None).unwrap_err().starts_with("endComment:"));
        assert!(Ending::checked(None, long()).unwrap_err().starts_with("endResult:"));
        assert_eq!(Ending::checked(Some(String::new()), None), Ok(Ending::default()));
    }
}
