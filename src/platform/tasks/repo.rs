//! Rows of tasks.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};

use super::{
    documents::DONE,
    model::{CreatedTask, Ending, NewTask, Task, TaskDetails},
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
    let ended_at = (to.module() == Some(DONE)).then(now_millis);
    let statement = sql(
        "UPDATE tasks SET status = ?, paused_from = ?, end_comment = COALESCE(?, end_comment), \
         end_result = COALESCE(?, end_result), ended_at = COALESCE(?, ended_at) WHERE tenant_id = ? AND id = ?",
        [
            to.number().into(),
            paused_from.into(),
            ending.end_comment.as_deref().into(),
            ending.end_result.as_deref().into(),
            ended_at.into(),
            row.tenant_id.into(),
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

/// What the store has under the id of a task that is to be created.
#[derive(FromQueryResult)]
struct Kept {
    app_task_id: String,
    id: String,
    task: String,
}

/// Creates tasks, each once for its (application, `appTaskId`) (decisions 8.2): what came of each, in their order.
pub(super) async fn create(
    transaction: &Transaction,
    tenant_id: i64,
    application: &str,
    new: &[NewTask],
) -> Result<Vec<Creation>> {
    let mut creations = Vec::with_capacity(new.len());
    for portion in new.chunks(ROWS_PER_STATEMENT) {
        let inserted = insert(transaction, tenant_id, application, portion).await?;
        // Mostly none is there already, and nothing has to be looked up.
        let kept = if inserted == portion.len() {
            HashMap::new()
        } else {
            find_kept(transaction, tenant_id, application, portion).await?
        };
        for one in portion {
            creations.push(resolve(transaction, tenant_id, one, kept.get(one.task.app_task_id.as_str()))?);
        }
    }
    Ok(creations)
}

/// Inserts those that are not there; of several with one `appTaskId` the first. Answers how many.
async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    application: &str,
    new: &[NewTask],
) -> Result<usize> {
    let assignees = assignees(transaction, tenant_id, new).await?;
    let mut text = String::from(
        "INSERT INTO tasks (id, tenant_id, application, app_task_id, status, assignee_login_id, assignee_user_id, \
         creator_id, created_at, end_comment, end_result, ended_at, task) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    );
    text.extend(std::iter::repeat_n(
        ", (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        new.len().saturating_sub(1),
    ));
    text.push_str(" ON CONFLICT (tenant_id, application, app_task_id) DO NOTHING");
    let values = new.iter().flat_map(|NewTask { id, task, text, status, created_at }| {
        let ended_at = (status.module() == Some(DONE)).then_some(*created_at);
        [
            id.as_str().into(),
            tenant_id.into(),
            application.into(),
            task.app_task_id.as_str().into(),
            status.number().into(),
            task.assignee_login_id.as_str().into(),
            assignees.get(&task.assignee_login_id).map(String::as_str).into(),
            task.creator_id.as_deref().into(),
            (*created_at).into(),
            task.end_comment.as_deref().into(),
            task.end_result.as_deref().into(),
            ended_at.into(),
            text.as_str().into(),
        ]
    });
    let inserted = transaction.execute_raw(sql(text, values)).await?;
    usize::try_from(inserted.rows_affected()).map_err(Error::internal)
}

/// Who has the logins that the tasks are assigned to, as far as the directory knows them.
async fn assignees(
    transaction: &Transaction,
    tenant_id: i64,
    new: &[NewTask],
) -> Result<HashMap<String, String>> {
    #[derive(FromQueryResult)]
    struct Assignee {
        login_id: String,
        user_id: String,
    }
    let logins: BTreeSet<&str> = new.iter().map(|one| one.task.assignee_login_id.as_str()).collect();
    let logins: Vec<&str> = logins.into_iter().collect();
    let text = "SELECT login_id, user_id FROM users WHERE tenant_id = ? AND is_deleted = 0 AND login_id";
    let found: Vec<Assignee> = find_in(&**transaction, text, &[tenant_id.into()], &logins).await?;
    Ok(found.into_iter().map(|Assignee { login_id, user_id }| (login_id, user_id)).collect())
}

/// The tasks that the application has under these ids now.
async fn find_kept(
    transaction: &Transaction,
    tenant_id: i64,
    application: &str,
    new: &[NewTask],
) -> Result<HashMap<String, Kept>> {
    let app_task_ids: Vec<&str> = new.iter().map(|one| one.task.app_task_id.as_str()).collect();
    let text =
        "SELECT app_task_id, id, task FROM tasks WHERE tenant_id = ? AND application = ? AND app_task_id";
    let first = [tenant_id.into(), application.into()];
    let kept: Vec<Kept> = find_in(&**transaction, text, &first, &app_task_ids).await?;
    Ok(kept.into_iter().map(|kept| (kept.app_task_id.clone(), kept)).collect())
}

/// What came of one task, given what the application has under its id now; `None` where all were inserted.
fn resolve(
    transaction: &Transaction,
    tenant_id: i64,
    new: &NewTask,
    kept: Option<&Kept>,
) -> Result<Creation> {
    let id = kept.map_or(&new.id, |kept| &kept.id);
    if *id == new.id {
        if let Some(module) = new.status.module() {
            transaction.record_change(tenant_id, module, id);
        }
    } else if let Some(kept) = kept
        && !new.is_same(&kept.task)?
    {
        return Ok(Creation::Other(id.clone()));
    }
    Ok(Creation::There(CreatedTask { id: id.clone(), app_task_id: new.task.app_task_id.clone() }))
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

/// Unary plus keeps the tenant from being what SQLite looks for: given many ids, it would rather walk all of the tenant's
/// tasks than look each one up.
fn find_text() -> String {
    format!("SELECT {COLUMNS} FROM tasks WHERE +tenant_id = ? AND id")
}

/// The tenant's tasks with these ids, as far as they are there.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    find_in(reader, &find_text(), &[tenant_id.into()], ids).await
}

/// A task with all that is shown of it.
#[derive(Debug, FromQueryResult)]
struct DetailsRow {
    #[sea_orm(nested)]
    row: Row,
    end_comment: Option<String>,
    end_result: Option<String>,
    /// A JSON list of `QuickDealEntry`.
    quick_deal_log: String,
}

/// The tenant's task with this id, its row and what is shown of it, read at one moment.
pub(super) async fn find_details<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    id: &str,
) -> Result<Option<(Row, TaskDetails)>> {
    let statement = sql(
        format!(
            "SELECT {COLUMNS}, end_comment, end_result, (SELECT json_group_array(json_object( \
               'handlerLoginId', handler_login_id, 'handledAt', handled_at, 'outcome', outcome, 'message', message, \
               'tookMs', took_ms) ORDER BY quick_deals.sequence) \
             FROM quick_deals WHERE task_id = tasks.id) AS quick_deal_log FROM tasks WHERE tenant_id = ? AND id = ?"
        ),
        [tenant_id.into(), id.into()],
    );
    let Some(found) = DetailsRow::find_by_statement(statement).one(reader).await? else { return Ok(None) };
    let DetailsRow { row, end_comment, end_result, quick_deal_log } = found;
    let task: Task = serde_json::from_str(&row.task).map_err(Error::internal)?;
    let details = TaskDetails {
        id: row.id.clone(),
        task: Task { status: Some(row.status), end_comment, end_result, ..task },
        quick_deal_log: serde_json::from_str(&quick_deal_log).map_err(Error::internal)?,
    };
    Ok(Some((row, details)))
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
