use std::collections::HashMap;

use super::{
    forms::{CreatedTask, Ending, NewTask, Task},
    states::{DONE, TaskMove, TaskStatus, after},
};
use crate::{
    error::{Error, Result},
    identity::logins,
    platform::users::lookups::find_ids_by_logins,
    store::{
        self, Connection, FromRow, ROWS_PER_STATEMENT, Transaction, Value, find_in, find_values_in,
        now_millis, placeholders, sql,
    },
};

pub(super) const COLUMNS: &str = "id, tenant_id, application, status, paused_from, assignee_login_id, assignee_user_id, \
    creator_id, created_at, task";

#[derive(Clone, Debug, FromRow)]
pub(super) struct StoredTask {
    pub(super) id: String,
    pub(super) tenant_id: i64,
    pub(super) application: String,
    pub(super) status: i64,
    pub(super) paused_from: Option<i64>,
    pub(super) assignee_login_id: String,
    pub(super) assignee_user_id: Option<String>,
    pub(super) creator_id: Option<String>,
    pub(super) created_at: i64,
    pub(super) task: String,
}

impl StoredTask {
    pub(super) fn status(&self) -> Result<TaskStatus> {
        TaskStatus::from_number(self.status)
            .ok_or_else(|| Error::internal(format!("a task is in state {}", self.status)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveOutcome {
    To(TaskStatus),
    Refused(TaskStatus),
}

pub(super) async fn make_move(
    transaction: &Transaction,
    row: &StoredTask,
    task_move: TaskMove,
    ending: &Ending,
) -> Result<MoveOutcome> {
    let status = row.status()?;
    let Some(to) = after(status, task_move, row.paused_from.and_then(TaskStatus::from_number)) else {
        return Ok(MoveOutcome::Refused(status));
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
    statement.execute(transaction).await?;
    for module in [status.module(), to.module()].into_iter().flatten() {
        transaction.record_change(row.tenant_id, module, &row.id);
    }
    Ok(MoveOutcome::To(to))
}

pub(crate) enum CreationOutcome {
    There(CreatedTask),
    Other(String),
}

#[derive(FromRow)]
struct ExistingTask {
    app_task_id: String,
    id: String,
    task: String,
}

/// Creates tasks, unique by application and `appTaskId` (book: reference/tasks.md).
pub(super) async fn create(
    transaction: &Transaction,
    tenant_id: i64,
    application: &str,
    new: &[NewTask],
) -> Result<Vec<CreationOutcome>> {
    let mut creations = Vec::with_capacity(new.len());
    for portion in new.chunks(ROWS_PER_STATEMENT) {
        let inserted = insert(transaction, tenant_id, application, portion).await?;
        let existing = if inserted == portion.len() {
            HashMap::new()
        } else {
            find_existing(transaction, tenant_id, application, portion).await?
        };
        for one in portion {
            creations.push(resolve(
                transaction,
                tenant_id,
                one,
                existing.get(one.task.app_task_id.as_str()),
            )?);
        }
    }
    Ok(creations)
}

/// Keeps the first of duplicates; returns the count.
async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    application: &str,
    new: &[NewTask],
) -> Result<usize> {
    const ROW: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let logins: Vec<&str> = new.iter().map(|one| one.task.assignee_login_id.as_str()).collect();
    let assignees = find_ids_by_logins(transaction, tenant_id, &logins).await?;
    let text = format!(
        "INSERT INTO tasks (id, tenant_id, application, app_task_id, status, assignee_login_id, assignee_login_folded, \
         assignee_user_id, creator_id, created_at, end_comment, end_result, ended_at, task) VALUES {} \
         ON CONFLICT (tenant_id, application, app_task_id) DO NOTHING",
        vec![ROW; new.len()].join(", ")
    );
    let values = new.iter().flat_map(|NewTask { id, task, text, status, created_at }| {
        let ended_at = (status.module() == Some(DONE)).then_some(*created_at);
        [
            id.as_str().into(),
            tenant_id.into(),
            application.into(),
            task.app_task_id.as_str().into(),
            status.number().into(),
            task.assignee_login_id.as_str().into(),
            logins::fold(&task.assignee_login_id).into(),
            assignees.get(&task.assignee_login_id).map(String::as_str).into(),
            task.creator_id.as_deref().into(),
            (*created_at).into(),
            task.end_comment.as_deref().into(),
            task.end_result.as_deref().into(),
            ended_at.into(),
            text.as_str().into(),
        ]
    });
    let inserted = sql(text, values).execute(transaction).await?;
    usize::try_from(inserted).map_err(Error::internal)
}

async fn find_existing(
    transaction: &Transaction,
    tenant_id: i64,
    application: &str,
    new: &[NewTask],
) -> Result<HashMap<String, ExistingTask>> {
    let app_task_ids: Vec<&str> = new.iter().map(|one| one.task.app_task_id.as_str()).collect();
    let text =
        "SELECT app_task_id, id, task FROM tasks WHERE tenant_id = ? AND application = ? AND app_task_id";
    let first = [tenant_id.into(), application.into()];
    let existing: Vec<ExistingTask> = find_in(transaction, text, &first, &app_task_ids).await?;
    Ok(existing.into_iter().map(|existing| (existing.app_task_id.clone(), existing)).collect())
}

fn resolve(
    transaction: &Transaction,
    tenant_id: i64,
    new: &NewTask,
    existing: Option<&ExistingTask>,
) -> Result<CreationOutcome> {
    let id = existing.map_or(&new.id, |existing| &existing.id);
    if *id == new.id {
        if let Some(module) = new.status.module() {
            transaction.record_change(tenant_id, module, id);
        }
    } else if let Some(existing) = existing
        && !new.is_same(&existing.task)?
    {
        return Ok(CreationOutcome::Other(id.clone()));
    }
    Ok(CreationOutcome::There(CreatedTask { id: id.clone(), app_task_id: new.task.app_task_id.clone() }))
}

/// Gives tasks of logins that were unknown to the people who have them now.
pub(super) async fn claim(transaction: &Transaction, tenant_id: i64, logins: &[String]) -> Result<()> {
    claim_exact(transaction, tenant_id, logins).await?;
    let folded: Vec<String> = logins.iter().map(|login| logins::fold(login)).collect();
    let text = "SELECT DISTINCT assignee_login_id FROM tasks \
                WHERE tenant_id = ? AND assignee_user_id IS NULL AND assignee_login_folded";
    let waiting: Vec<String> = find_values_in(transaction, text, &[tenant_id.into()], &folded).await?;
    let waiting: Vec<&str> = waiting.iter().map(String::as_str).collect();
    for (login, user_id) in find_ids_by_logins(transaction, tenant_id, &waiting).await? {
        let text = "UPDATE tasks SET assignee_user_id = ? \
                    WHERE tenant_id = ? AND assignee_user_id IS NULL AND assignee_login_id = ? RETURNING id, status";
        let claimed = sql(text, [user_id.into(), tenant_id.into(), login.into()]);
        record_changes(transaction, tenant_id, claimed.fetch_all(transaction).await?);
    }
    Ok(())
}

fn record_changes(transaction: &Transaction, tenant_id: i64, tasks: Vec<(String, i64)>) {
    for (id, status) in tasks {
        if let Some(module) = TaskStatus::from_number(status).and_then(TaskStatus::module) {
            transaction.record_change(tenant_id, module, &id);
        }
    }
}

async fn claim_exact(transaction: &Transaction, tenant_id: i64, logins: &[String]) -> Result<()> {
    for portion in logins.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "UPDATE tasks SET assignee_user_id = (SELECT user_id FROM users WHERE users.tenant_id = tasks.tenant_id \
             AND users.login_id = tasks.assignee_login_id AND NOT users.is_deleted) \
             WHERE tenant_id = ? AND assignee_user_id IS NULL AND assignee_login_id IN ({}) RETURNING id, status",
            placeholders(portion.len())
        );
        let values =
            std::iter::once(Value::from(tenant_id)).chain(portion.iter().map(|login| login.as_str().into()));
        record_changes(transaction, tenant_id, sql(text, values).fetch_all(transaction).await?);
    }
    Ok(())
}

pub(super) async fn find(
    connection: &Connection,
    tenant_id: i64,
    id: &str,
) -> store::Result<Option<StoredTask>> {
    let text = format!("SELECT {COLUMNS} FROM tasks WHERE +tenant_id = ? AND id = ?");
    sql(text, [tenant_id.into(), id.into()]).fetch_optional(connection).await
}

#[derive(Debug, FromRow)]
struct DetailsRow {
    #[sqlx(flatten)]
    row: StoredTask,
    end_comment: Option<String>,
    end_result: Option<String>,
}

/// The row of a task, with present status and ending.
pub(super) async fn find_details(
    reader: &Connection,
    tenant_id: i64,
    id: &str,
) -> Result<Option<(StoredTask, Task)>> {
    let statement = sql(
        format!("SELECT {COLUMNS}, end_comment, end_result FROM tasks WHERE tenant_id = ? AND id = ?"),
        [tenant_id.into(), id.into()],
    );
    let Some(found) = statement.fetch_optional::<DetailsRow>(reader).await? else { return Ok(None) };
    let DetailsRow { row, end_comment, end_result } = found;
    let task: Task = serde_json::from_str(&row.task).map_err(Error::internal)?;
    let task = Task { status: Some(row.status), end_comment, end_result, ..task };
    Ok(Some((row, task)))
}

pub(super) async fn count(reader: &Connection, states: &[TaskStatus]) -> store::Result<u64> {
    let statement = sql(
        format!("SELECT COUNT(*) AS tasks FROM tasks WHERE status IN ({})", placeholders(states.len())),
        states.iter().map(|status| Value::from(status.number())),
    );
    statement.count(reader).await
}
