//! Who may make which move of a task, and what becomes of it (decisions 3.5, 8.1).

use sea_orm::ConnectionTrait;

use super::{
    documents::DONE,
    model::{Ending, Form, TaskDetails},
    repo::{self, Moved, Row},
    states::{Move, TaskStatus},
};
use crate::{
    auth::{caller::Caller, directory::Person},
    error::{Error, Result},
    store::Transaction,
};

/// Who acts on a task.
#[derive(Clone, Debug)]
pub enum Actor {
    /// An application, by its client id: it acts on the tasks that it created.
    Application(String),
    /// A person: he handles the tasks that are assigned to him.
    Person {
        /// The id on the synchronising side.
        user_id: String,
        /// The login account.
        login_id: String,
    },
}

/// What an actor is to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The application that created it.
    Owner,
    /// The person whom it is assigned to.
    Assignee,
    /// The person who sent it.
    Creator,
}

impl Actor {
    /// Whoever makes this call.
    pub fn of(caller: &Caller) -> Self {
        match caller.user.as_deref() {
            None => Self::Application(caller.client_id.to_string()),
            Some(user) => {
                let Person { user_id, login_id, .. } = &user.person;
                Self::Person { user_id: user_id.clone(), login_id: login_id.clone() }
            }
        }
    }

    /// What he is to the task; `None` where it does not exist for him. Removed tasks exist for nobody, paused ones not for their
    /// assignee.
    pub(super) fn standing(&self, row: &Row) -> Result<Option<Standing>> {
        let status = row.status()?;
        if status == TaskStatus::Removed {
            return Ok(None);
        }
        Ok(match self {
            Self::Application(client_id) => (row.application == *client_id).then_some(Standing::Owner),
            Self::Person { user_id, login_id } => {
                let is_assignee = match &row.assignee_user_id {
                    Some(assignee) => assignee == user_id,
                    // A login that nobody has had yet stands for whoever comes to have it.
                    None => row.assignee_login_id == *login_id,
                };
                if row.creator_id.as_ref() == Some(user_id) && !is_assignee {
                    Some(Standing::Creator)
                } else {
                    (is_assignee && status != TaskStatus::Paused).then_some(Standing::Assignee)
                }
            }
        })
    }
}

impl Standing {
    /// Whether he may make this move: the application every one, the assignee only what handling his task is.
    fn check(self, task_move: Move) -> Result<()> {
        match (self, task_move) {
            (Self::Owner, _) | (Self::Assignee, Move::Complete) => Ok(()),
            (Self::Assignee, _) => Err(Error::forbidden(format!(
                "this task can be {} only by the application that created it",
                task_move.participle()
            ))),
            (Self::Creator, _) => Err(Error::forbidden("only the assignee may handle this task")),
        }
    }
}

/// Makes a move of the tenant's task with this id; answers the state it is in then.
///
/// # Errors
/// 404 where it does not exist for the actor, 403 where he may see but not handle it, 409, saying its state, where the move
/// cannot be made.
pub async fn make(
    transaction: &Transaction,
    tenant_id: i64,
    actor: &Actor,
    id: &str,
    task_move: Move,
    ending: &Ending,
) -> Result<TaskStatus> {
    let rows = repo::find(&**transaction, tenant_id, &[id.to_owned()]).await?;
    let row = rows.into_iter().next().ok_or_else(absent)?;
    actor.standing(&row)?.ok_or_else(absent)?.check(task_move)?;
    match repo::make_move(transaction, &row, task_move, ending).await? {
        Moved::To(status) => Ok(status),
        Moved::Refused(status) => {
            let names: Vec<&str> = task_move.starts_from().into_iter().map(TaskStatus::name).collect();
            let (names, done) = (names.join(" or "), task_move.participle());
            let Error { message, .. } = refused(status);
            Err(Error::conflict(format!("{message}; only one that is {names} can be {done}")))
        }
    }
}

/// A to-do or done item, for who may see it; `None` also where it stands in the other of the two modules.
///
/// # Errors
/// Those of the store.
pub async fn show<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    actor: &Actor,
    id: &str,
    form: Form,
) -> Result<Option<TaskDetails>> {
    let Some((row, details)) = repo::find_details(reader, tenant_id, id).await? else { return Ok(None) };
    let is_done = row.status()?.module() == Some(DONE);
    let is_shown = is_done == (form == Form::Done) && actor.standing(&row)?.is_some();
    Ok(is_shown.then_some(details))
}

/// 404: there is no such task, or not for this caller.
pub(super) fn absent() -> Error {
    Error::not_found("there is no such task")
}

/// 409: the move cannot be made from this state.
pub(super) fn refused(status: TaskStatus) -> Error {
    Error::conflict(format!("this task is {}", status.name()))
}
