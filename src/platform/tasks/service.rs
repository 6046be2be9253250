//! Moves of tasks that a caller may make (book: reference/tasks.md).

use super::{
    forms::{Ending, TaskDetails, TaskForm},
    quick_deal::repo as log,
    repo::{self, MoveOutcome, StoredTask},
    states::{DONE, TaskMove, TaskStatus},
};
use crate::{
    auth::{caller::Caller, directory::Person},
    error::{Error, Result},
    store::{Connection, Transaction},
};

/// Caller acting on a task.
#[derive(Clone, Debug)]
pub enum TaskActor {
    /// Client id; acts on tasks it created.
    Application(String),
    /// Person; handles tasks assigned to them.
    Person {
        /// Source user id.
        user_id: String,
        /// Login.
        login_id: String,
    },
}

/// Relation to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskRole {
    /// Creating application.
    Owner,
    /// Assigned person.
    Assignee,
    /// Sending person.
    Creator,
}

impl TaskActor {
    /// Actor of a caller.
    pub fn of(caller: &Caller) -> Self {
        match caller.user.as_deref() {
            None => Self::Application(caller.client_id.to_string()),
            Some(user) => {
                let Person { user_id, login_id, .. } = &user.person;
                Self::Person { user_id: user_id.clone(), login_id: login_id.clone() }
            }
        }
    }

    /// `None` if removed, or paused for the assignee.
    pub(super) fn role(&self, row: &StoredTask) -> Result<Option<TaskRole>> {
        let status = row.status()?;
        if status == TaskStatus::Removed {
            return Ok(None);
        }
        Ok(match self {
            Self::Application(client_id) => (row.application == *client_id).then_some(TaskRole::Owner),
            Self::Person { user_id, login_id } => {
                let is_assignee = match &row.assignee_user_id {
                    Some(assignee) => assignee == user_id,
                    // An unknown login stands for its later person.
                    None => row.assignee_login_id == *login_id,
                };
                if row.creator_id.as_ref() == Some(user_id) && !is_assignee {
                    Some(TaskRole::Creator)
                } else {
                    (is_assignee && status != TaskStatus::Paused).then_some(TaskRole::Assignee)
                }
            }
        })
    }
}

impl TaskRole {
    /// The assignee may make handling moves only.
    fn check(self, task_move: TaskMove) -> Result<()> {
        match (self, task_move) {
            (Self::Owner, _) | (Self::Assignee, TaskMove::Complete) => Ok(()),
            (Self::Assignee, _) => Err(Error::forbidden(format!(
                "this task can be {} only by the application that created it",
                task_move.participle()
            ))),
            (Self::Creator, _) => Err(Error::forbidden("only the assignee may handle this task")),
        }
    }
}

/// Moves a task and returns the new status.
///
/// # Errors
///
/// 404 if invisible, 403 if not theirs, 409 with the status if the move is invalid.
pub async fn make(
    transaction: &Transaction,
    tenant_id: i64,
    actor: &TaskActor,
    id: &str,
    task_move: TaskMove,
    ending: &Ending,
) -> Result<TaskStatus> {
    let row = repo::find(transaction, tenant_id, id).await?.ok_or_else(absent)?;
    actor.role(&row)?.ok_or_else(absent)?.check(task_move)?;
    match repo::make_move(transaction, &row, task_move, ending).await? {
        MoveOutcome::To(status) => Ok(status),
        MoveOutcome::Refused(status) => {
            let names: Vec<&str> = task_move.starts_from().into_iter().map(TaskStatus::name).collect();
            let (names, done) = (names.join(" or "), task_move.participle());
            let Error { message, .. } = refused(status);
            Err(Error::conflict(format!("{message}; only one that is {names} can be {done}")))
        }
    }
}

/// `None` if invisible, or of the other module.
pub async fn show(
    reader: &Connection,
    tenant_id: i64,
    actor: &TaskActor,
    id: &str,
    form: TaskForm,
) -> Result<Option<TaskDetails>> {
    let Some((row, task)) = repo::find_details(reader, tenant_id, id).await? else { return Ok(None) };
    let is_done = row.status()?.module() == Some(DONE);
    if is_done != (form == TaskForm::Done) || actor.role(&row)?.is_none() {
        return Ok(None);
    }
    let quick_deal_log = log::list(reader, id).await?;
    Ok(Some(TaskDetails { id: row.id, task, quick_deal_log }))
}

pub(super) fn absent() -> Error {
    Error::not_found("there is no such task")
}

pub(super) fn refused(status: TaskStatus) -> Error {
    Error::conflict(format!("this task is {}", status.name()))
}

/// Assigns tasks to people whose logins were unknown.
pub async fn claim(transaction: &Transaction, tenant_id: i64, logins: &[String]) -> Result<()> {
    repo::claim(transaction, tenant_id, logins).await
}
