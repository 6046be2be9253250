//! Rows of tasks.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};
use uuid::Uuid;

use super::model::{CreatedTask, NewTask, Task};
use crate::{
    error::{Error, Result},
    store::{ROWS_PER_STATEMENT, Transaction, find_in, placeholders, sql},
};

/// The columns that are read; `FromQueryResult` finds them by name.
const COLUMNS: &str =
    "sequence, id, tenant_id, status, assignee_login_id, assignee_user_id, creator_id, created_at, task";

/// One kept task.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) sequence: i64,
    pub(super) id: String,
    pub(super) tenant_id: i64,
    pub(super) status: i64,
    pub(super) assignee_login_id: String,
    pub(super) assignee_user_id: Option<String>,
    pub(super) creator_id: Option<String>,
    pub(super) created_at: i64,
    pub(super) task: String,
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
        transaction.record_change(tenant_id, super::documents::TODO, &id);
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
             WHERE tenant_id = ? AND assignee_user_id IS NULL AND assignee_login_id IN ({}) RETURNING id",
            placeholders(portion.len())
        );
        let values =
            std::iter::once(Value::from(tenant_id)).chain(portion.iter().map(|login| login.as_str().into()));
        for row in transaction.query_all_raw(sql(text, values)).await? {
            transaction.record_change(tenant_id, super::documents::TODO, &row.try_get::<String>("", "id")?);
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

/// How many tasks stand in one of these two states.
pub(super) async fn count<C: ConnectionTrait>(reader: &C, states: [i64; 2]) -> Result<i64, DbErr> {
    let statement =
        sql("SELECT COUNT(*) AS tasks FROM tasks WHERE status IN (?, ?)", states.map(Value::from));
    let row = reader.query_one_raw(statement).await?;
    row.map_or(Ok(0), |row| row.try_get("", "tasks"))
}
