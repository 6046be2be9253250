//! Rows of tasks.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};
use uuid::Uuid;

use super::{
    model::{CreatedTask, Ending, NewTask, Task},
    states::{Move, TaskStatus, after},
};
use crate::{
    error::{Error, Result},
    store::{ROWS_PER_STATEMENT, Transaction, find_in, now_millis, placeholders, sql},
};

/// The columns that are read; `FromQueryResult` finds them by name.
const COLUMNS: &str = "sequence, id, tenant_id, application, status, paused_from, assignee_login_id, assignee_user_id, \
    creator_id, created_at, task";

/// One kept task.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) sequence: i64,
    pub(super) id: String,
    pub(super) tenant_id: i64,
    /// The client id of the application that created it.
    pub(super) application: String,
    pub(super) status: i64,
    /// The state that a paused task came from.
    pub(super) paused_from: Option<i64>,
    pub(super) assignee_login_id: String,
    pub(super) assignee_user_id: Option<String>,
    pub(super) creator_id: Option<String>,
    pub(super) created_at: i64,
    pub(super) task: String,
}

impl Row {
    /// The state that it is in.
    pub(super) fn status(&self) -> Result<TaskStatus> {
        TaskStatus::from_number(self.status)
            .ok_or_else(|| Error::internal(format!("a task is in state {}", self.status)))
    }
}

/// What came of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// The task is in this state now.
    To(TaskStatus),
    /// It is in this state, which the move cannot be made from.
    Refused(TaskStatus),
}

/// Makes a move of a task that the transaction has read, and keeps what its end leaves.
pub(super) async fn make_move(
    transaction: &Transaction,
    row: &Row,
    task_move: Move,
    ending: &Ending,
) -> Result<Moved> {
    let status = row.status()?;
    let Some(to) = after(status, task_move, row.paused_from.and_then(TaskStatus::from_number)) else {
        return Ok(Moved::Refused(status));
    };
    let paused_from = (to == TaskStatus::Paused).then_some(row.status);
    let ended_at = (to.module() == Some(super::documents::DONE)).then(now_millis);
    let statement = sql(
        "UPDATE tasks SET status = ?, paused_from = ?, end_comment = COALESCE(?, end_comment), \
         end_result = COALESCE(?, end_result), ended_at = COALESCE(?, ended_at) WHERE id = ?",
        [
            to.number().into(),
            paused_from.into(),
            ending.end_comment.as_deref().into(),
            ending.end_result.as_deref().into(),
            ended_at.into(),
            row.id.as_str().into(),
        ],
    );
    transaction.execute_raw(statement).await?;
    // Both at once: it leaves one module in the moment in which it comes to the other.
    for module in [status.module(), to.module()].into_iter().flatten() {
        transaction.record_change(row.tenant_id, module, &row.id);
    }
    Ok(Moved::To(to))
}

/// What came of creating a task.
pub(super) enum Creation {
    /// It is there, created now or before with the same content.
    There(CreatedTask),
    /// The application has another task of this id; holds the platform's id of that one.
    Other(String),
}

/// Creates a task, once for each (application, `appTaskId`) (decisions 8.2).
pub(super) async fn create(
    transaction: &Transaction,
    tenant_id: i64,
    application: &str,
    new: &NewTask,
) -> Result<Creation> {
    let NewTask { task, status, created_at } = new;
    let id = Uuid::now_v7().to_string();
    let text = serde_json::to_string(task).map_err(Error::internal)?;
    let inserted = transaction
        .execute_raw(sql(
            "INSERT INTO tasks (id, tenant_id, application, app_task_id, status, assignee_login_id, creator_id, \
             created_at, task, assignee_user_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, \
             (SELECT user_id FROM users WHERE tenant_id = ? AND login_id = ? AND is_deleted = 0)) \
             ON CONFLICT (tenant_id, application, app_task_id) DO NOTHING",
            [
                id.as_str().into(),
                tenant_id.into(),
                application.into(),
                task.app_task_id.as_str().into(),
                status.number().into(),
                task.assignee_login_id.as_str().into(),
                task.creator_id.as_deref().into(),
                (*created_at).into(),
                text.into(),
                tenant_id.into(),
                task.assignee_login_id.as_str().into(),
            ],
        ))
        .await?;
    if inserted.rows_affected() == 1 {
        if let Some(module) = status.module() {
            transaction.record_change(tenant_id, module, &id);
        }
        return Ok(Creation::There(CreatedTask { id, app_task_id: task.app_task_id.clone() }));
    }
    let (known_id, known) = find_by_app_task_id(transaction, tenant_id, application, &task.app_task_id)
        .await?
        .ok_or_else(|| Error::internal("a task that conflicts is not there"))?;
    if known == *task {
        Ok(Creation::There(CreatedTask { id: known_id, app_task_id: task.app_task_id.clone() }))
    } else {
        Ok(Creation::Other(known_id))
    }
}

/// Gives the tasks of logins that nobody had so far to those who have them now.
pub(super) async fn claim(transaction: &Transaction, tenant_id: i64, logins: &[String]) -> Result<()> {
    for portion in logins.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "UPDATE tasks SET assignee_user_id = (SELECT user_id FROM users WHERE users.tenant_id = tasks.tenant_id \
             AND users.login_id = tasks.assignee_login_id AND users.is_deleted = 0) \
             WHERE tenant_id = ? AND assignee_user_id IS NULL AND assignee_login_id IN ({}) RETURNING id, status",
            placeholders(portion.len())
        );
        let values =
            std::iter::once(Value::from(tenant_id)).chain(portion.iter().map(|login| login.as_str().into()));
        for row in transaction.query_all_raw(sql(text, values)).await? {
            let status = TaskStatus::from_number(row.try_get("", "status")?);
            if let Some(module) = status.and_then(TaskStatus::module) {
                transaction.record_change(tenant_id, module, &row.try_get::<String>("", "id")?);
            }
        }
    }
    Ok(())
}

async fn find_by_app_task_id(
    transaction: &Transaction,
    tenant_id: i64,
    application: &str,
    app_task_id: &str,
) -> Result<Option<(String, Task)>> {
    let row = transaction
        .query_one_raw(sql(
            "SELECT id, task FROM tasks WHERE tenant_id = ? AND application = ? AND app_task_id = ?",
            [tenant_id.into(), application.into(), app_task_id.into()],
        ))
        .await?;
    let Some(row) = row else { return Ok(None) };
    let task: String = row.try_get("", "task")?;
    Ok(Some((row.try_get("", "id")?, serde_json::from_str(&task).map_err(Error::internal)?)))
}

/// The tenant's tasks with these ids, as far as they are there.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    let text = format!("SELECT {COLUMNS} FROM tasks WHERE tenant_id = ? AND id");
    find_in(reader, &text, &[tenant_id.into()], ids).await
}

/// Up to `limit` tasks of all tenants after `sequence`, in the order of that.
pub(super) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Vec<Row>, DbErr> {
    Row::find_by_statement(sql(
        format!("SELECT {COLUMNS} FROM tasks WHERE sequence > ? ORDER BY sequence LIMIT ?"),
        [sequence.into(), limit.into()],
    ))
    .all(reader)
    .await
}

/// How many tasks stand in one of these states.
pub(super) async fn count<C: ConnectionTrait>(reader: &C, states: &[TaskStatus]) -> Result<i64, DbErr> {
    let statement = sql(
        format!("SELECT COUNT(*) AS tasks FROM tasks WHERE status IN ({})", placeholders(states.len())),
        states.iter().map(|status| Value::from(status.number())),
    );
    let row = reader.query_one_raw(statement).await?;
    row.map_or(Ok(0), |row| row.try_get("", "tasks"))
}
