//! What a task must be, what is kept of it, and what is shown of it.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trawl_connectors::check_action;
use url::Url;
use uuid::Uuid;

use super::repo;
pub use super::states::TaskStatus;
use crate::{
    error::{Error, Result},
    platform::common::{ID_BYTES, TextRule},
    store::Transaction,
};

/// An id.
const ID: TextRule = TextRule::Line(ID_BYTES);
/// A login account, as long as the directory takes it.
const LOGIN: TextRule = TextRule::Line(256);
/// A name or a word.
const NAME: TextRule = TextRule::Lines(256);
/// A title.
const TITLE: TextRule = TextRule::Lines(4 << 10);
/// An address.
const ADDRESS: TextRule = TextRule::Line(4 << 10);
/// Any other text.
const OTHER: TextRule = TextRule::Lines(64 << 10);

/// A to-do or done item as it is sent. Kept as JSON in this form, so that sending the same again can be told from sending
/// something else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Task {
    /// Unique id of the item in the originating application.
    #[schema(required)]
    pub app_task_id: String,
    /// Title.
    #[schema(required)]
    pub title: String,
    /// Source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Sender: a user id on the synchronising side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator_id: Option<String>,
    /// Sender name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator_name: Option<String>,
    /// Urgency: 0 ordinary, 1 urgent, 2 extremely urgent; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degree: Option<i64>,
    /// Id of the process that it belongs to.
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
    /// Handler's account; one that the directory does not know yet is accepted.
    #[schema(required)]
    pub assignee_login_id: String,
    /// Current task parameters: a JSON map in a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_data: Option<String>,
    /// Labels: a JSON array in a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    /// Click-handling action: a JSON object in a string, keyed by client kind, whose values are texts of lines: `[OpenApp]`
    /// with `appCode=…` and `appUrl=…`, or `[OpenUrl]` with `url=…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Whether quick handling is *not* supported; true when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_deal: Option<bool>,
    /// Callback address of quick handling: http or https, without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_deal_callback: Option<String>,
    /// In the to-do form 0 to-do or 2 to-read, 0 when absent; in the done form 1 done, 4 read or 5 withdrawn, 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    /// Handling remark; of the done form only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_comment: Option<String>,
    /// Handling result; of the done form only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_result: Option<String>,
}

/// Which of the two forms a task is sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `/api/todo/create`.
    ToDo,
    /// `/api/done/create`.
    Done,
}

impl Form {
    /// The first state of a task, by the number that it was sent with.
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
    /// Fills in what is absent and checks the form (decisions 8.2). An empty text is none.
    ///
    /// # Errors
    /// A message that names the field and says what would be right.
    pub fn checked(mut self, form: Form) -> Result<(Self, TaskStatus), String> {
        if form == Form::ToDo {
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

/// Whether a text, if there is one, is JSON of this shape.
fn holds<T: serde::de::DeserializeOwned>(text: Option<&str>) -> bool {
    text.is_none_or(|text| serde_json::from_str::<T>(text).is_ok())
}

/// Whether it has the form of an address that could be called. Whether it may be called is judged where that is done.
fn is_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

/// A task that was created, or was there already with the same content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTask {
    /// The platform's to-do id.
    pub id: String,
    /// The application's own id.
    pub app_task_id: String,
}

/// A task of a batch that was not created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedTask {
    /// The platform's to-do id, where the task is one that exists with other content.
    pub id: Option<String>,
    /// Why.
    pub message: String,
    /// The application's own id; empty when it has none.
    pub app_task_id: String,
}

/// What came of a batch; both lists are in the order of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct BatchResult {
    /// Created, or there already with the same content.
    pub success: Vec<CreatedTask>,
    /// Not created.
    pub error: Vec<FailedTask>,
}

/// A task that is to be created.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// The platform's id for it.
    pub id: String,
    /// Its content.
    pub task: Task,
    /// The same as it is kept: made where many requests can make theirs at once, not by the one writer.
    pub text: String,
    /// Its first state.
    pub status: TaskStatus,
    /// Its time, epoch milliseconds.
    pub created_at: i64,
}

impl NewTask {
    /// A task of a checked form.
    ///
    /// # Errors
    /// 500 where it cannot be written as JSON.
    pub fn new(task: Task, status: TaskStatus, created_at: i64) -> Result<Self> {
        let text = serde_json::to_string(&task).map_err(Error::internal)?;
        Ok(Self { id: Uuid::now_v7().to_string(), task, text, status, created_at })
    }

    /// Whether a kept task has the same content.
    ///
    /// # Errors
    /// 500 where what is kept is no task.
    pub fn is_same(&self, kept: &str) -> Result<bool> {
        // Written by the same rules it is the same text, save by an earlier version of them.
        Ok(self.text == kept || serde_json::from_str::<Task>(kept).map_err(Error::internal)? == self.task)
    }
}

/// What the end of a task leaves; absent keeps what there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Handling remark.
    pub end_comment: Option<String>,
    /// Handling result.
    pub end_result: Option<String>,
}

impl Ending {
    /// Checks what a caller sent. An empty text is none.
    ///
    /// # Errors
    /// A message that names the field.
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

/// A to-do or done item as it is shown (decisions 8.4): the fields of its form, of which `status`, `endComment` and
/// `endResult` are those of now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskDetails {
    /// The platform's to-do id.
    pub id: String,
    /// What was sent, and what became of it.
    #[serde(flatten)]
    pub task: Task,
    /// Every quick handling, oldest first.
    pub quick_deal_log: Vec<QuickDealEntry>,
}

/// One quick handling of a task (decisions 8.4).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuickDealEntry {
    /// The login account of the person who handled it.
    pub handler_login_id: String,
    /// When, epoch milliseconds.
    pub handled_at: i64,
    /// What came of it; `begun` while it is under way.
    pub outcome: String,
    /// Why it failed.
    pub message: Option<String>,
    /// How long the callback took, milliseconds.
    pub took_ms: Option<i64>,
}

/// Gives the tasks of one batch distinct milliseconds that end `now`, in their order (decisions 4.4).
pub fn spread_times(count: usize, now: i64) -> impl Iterator<Item = i64> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    (now - count + 1)..=now
}

/// Gives the tasks of logins that nobody had so far to the people who have them now (decisions 8.2).
pub async fn claim(transaction: &Transaction, tenant_id: i64, logins: &[String]) -> Result<()> {
    repo::claim(transaction, tenant_id, logins).await
}
