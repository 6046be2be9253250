//! What a task must be, and the states it may be in.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::repo;
pub use super::states::TaskStatus;
use crate::{error::Result, store::Transaction};

/// Bytes of an id or a login.
const ID_BYTES: usize = 256;
/// Bytes of a title.
const TITLE_BYTES: usize = 4 << 10;
/// Bytes of any other text.
const OTHER_BYTES: usize = 64 << 10;

/// A to-do item as it is sent. Kept as JSON in this form, so that sending the same again can be told from sending
/// something else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Task {
    /// Unique id of the item in the originating application.
    pub app_task_id: String,
    /// Title.
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
    /// Urgency: 0 ordinary, 1 urgent, 2 extremely urgent.
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
    pub assignee_login_id: String,
    /// Current task parameters: a JSON map in a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_data: Option<String>,
    /// Labels: a JSON array in a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    /// Click-handling action: a JSON object in a string, keyed by client kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Whether quick handling is *not* supported; true when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_deal: Option<bool>,
    /// Callback address of quick handling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_deal_callback: Option<String>,
    /// 0 to-do or 2 to-read; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
}

impl Task {
    /// Fills in what is absent and checks the to-do form (decisions 8.2).
    ///
    /// # Errors
    /// A message that names the field.
    pub fn checked(mut self) -> Result<(Self, TaskStatus), String> {
        let status = match self.status.unwrap_or(TaskStatus::ToDo.number()) {
            0 => TaskStatus::ToDo,
            2 => TaskStatus::ToRead,
            other => return Err(format!("status: must be 0 (to-do) or 2 (to-read), not {other}")),
        };
        self.status = Some(status.number());
        self.quick_deal.get_or_insert(true);
        let degree = *self.degree.get_or_insert(0);
        if !(0..=2).contains(&degree) {
            return Err(format!(
                "degree: must be 0 (ordinary), 1 (urgent) or 2 (extremely urgent), not {degree}"
            ));
        }
        let required = [
            ("appTaskId", &self.app_task_id, ID_BYTES),
            ("title", &self.title, TITLE_BYTES),
            ("assigneeLoginId", &self.assignee_login_id, ID_BYTES),
        ];
        for (name, text, most) in required {
            if text.trim().is_empty() || text.len() > most {
                return Err(format!("{name}: is required, at most {most} bytes of UTF-8"));
            }
        }
        let ids = [
            ("appTaskId", Some(&self.app_task_id)),
            ("assigneeLoginId", Some(&self.assignee_login_id)),
            ("creatorId", self.creator_id.as_ref()),
        ];
        for (name, id) in ids {
            if id.is_some_and(|id| id.chars().any(char::is_control)) {
                return Err(format!("{name}: must hold no control characters"));
            }
        }
        self.check_optional_texts()?;
        Ok((self, status))
    }

    fn check_optional_texts(&self) -> Result<(), String> {
        let bounded = [
            ("source", &self.source, ID_BYTES),
            ("creatorId", &self.creator_id, ID_BYTES),
            ("creatorName", &self.creator_name, ID_BYTES),
            ("procInstId", &self.proc_inst_id, ID_BYTES),
            ("procInstTitle", &self.proc_inst_title, TITLE_BYTES),
            ("procInstStatus", &self.proc_inst_status, ID_BYTES),
            ("procCreatorId", &self.proc_creator_id, ID_BYTES),
            ("procCreatorName", &self.proc_creator_name, ID_BYTES),
            ("appData", &self.app_data, OTHER_BYTES),
            ("tags", &self.tags, OTHER_BYTES),
            ("action", &self.action, OTHER_BYTES),
            ("quickDealCallback", &self.quick_deal_callback, TITLE_BYTES),
        ];
        for (name, text, most) in bounded {
            if text.as_ref().is_some_and(|text| text.len() > most) {
                return Err(format!("{name}: must be at most {most} bytes of UTF-8"));
            }
        }
        if !holds::<Map<String, Value>>(self.app_data.as_deref()) {
            return Err("appData: must be a JSON map in a string".to_owned());
        }
        if !holds::<Vec<Value>>(self.tags.as_deref()) {
            return Err("tags: must be a JSON array in a string".to_owned());
        }
        if !holds::<Map<String, Value>>(self.action.as_deref()) {
            return Err("action: must be a JSON object in a string, keyed by client kind".to_owned());
        }
        Ok(())
    }
}

/// Whether a text, if there is one, is JSON of this shape.
fn holds<T: serde::de::DeserializeOwned>(text: Option<&str>) -> bool {
    text.filter(|text| !text.is_empty()).is_none_or(|text| serde_json::from_str::<T>(text).is_ok())
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

/// What came of a batch.
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
    /// Its content.
    pub task: Task,
    /// Its first state.
    pub status: TaskStatus,
    /// Its time, epoch milliseconds.
    pub created_at: i64,
}

/// What the end of a task leaves; absent keeps what there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Handling remark.
    pub end_comment: Option<String>,
    /// Handling result.
    pub end_result: Option<String>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        Task {
            app_task_id: "1".to_owned(),
            title: "Approve".to_owned(),
            assignee_login_id: "mei".to_owned(),
            ..Task::default()
        }
    }

    #[test]
    fn defaults_are_filled_in() {
        let (task, status) = task().checked().unwrap();
        assert_eq!((task.status, task.degree, task.quick_deal), (Some(0), Some(0), Some(true)));
        assert_eq!(status, TaskStatus::ToDo);
    }

    #[test]
    fn each_wrong_field_is_named() {
        let wrong = |change: fn(&mut Task)| {
            let mut task = task();
            change(&mut task);
            task.checked().unwrap_err()
        };
        assert!(wrong(|task| task.app_task_id.clear()).starts_with("appTaskId:"));
        assert!(wrong(|task| task.title = " ".to_owned()).starts_with("title:"));
        assert!(wrong(|task| task.assignee_login_id.clear()).starts_with("assigneeLoginId:"));
        assert!(wrong(|task| task.status = Some(1)).starts_with("status:"));
        assert!(wrong(|task| task.degree = Some(3)).starts_with("degree:"));
        assert!(wrong(|task| task.app_data = Some("[]".to_owned())).starts_with("appData:"));
        assert!(wrong(|task| task.tags = Some("{}".to_owned())).starts_with("tags:"));
        assert!(wrong(|task| task.action = Some("open".to_owned())).starts_with("action:"));
        assert!(wrong(|task| task.source = Some("x".repeat(257))).starts_with("source:"));
        assert!(wrong(|task| task.app_task_id = "a\0b".to_owned()).starts_with("appTaskId:"));
    }

    #[test]
    fn times_of_a_batch_are_distinct() {
        assert_eq!(spread_times(3, 10).collect::<Vec<_>>(), [8, 9, 10]);
    }
}
