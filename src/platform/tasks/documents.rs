//! Tasks as documents of the full-text index.

use sea_orm::ConnectionTrait;
use trawl_connectors::ContentItem;
use trawl_index::{Audience, Document, Scope};

use super::{
    model::{Task, TaskStatus},
    repo::{self, Row},
};
use crate::{
    auth::directory::{login_principal, user_principal},
    error::{Error, Result},
};

/// The module that open tasks are found in.
pub const TODO: &str = "todo";

/// The module that done, read and withdrawn tasks are found in.
pub const DONE: &str = "done";

/// The documents of the tenant's tasks with these ids, each in the module that it stands in now.
pub async fn find<C: ConnectionTrait>(reader: &C, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    into_documents(repo::find(reader, tenant_id, ids).await?)
}

/// The documents of up to `limit` tasks after `sequence`, and the last one's number.
pub async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Document>, i64)>> {
    let rows = repo::scan(reader, sequence, limit).await?;
    let Some(last) = rows.last().map(|row| row.sequence) else { return Ok(None) };
    Ok(Some((into_documents(rows)?, last)))
}

/// How many tasks a scan from the beginning gives.
pub async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64> {
    let found: Vec<TaskStatus> =
        TaskStatus::ALL.into_iter().filter(|status| status.module().is_some()).collect();
    Ok(repo::count(reader, &found).await?)
}

fn into_documents(rows: Vec<Row>) -> Result<Vec<Document>> {
    let mut documents = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(module) = row.status()?.module() {
            documents.push(into_document(row, module)?);
        }
    }
    Ok(documents)
}

fn into_document(row: Row, module: &str) -> Result<Document> {
    let task: Task = serde_json::from_str(&row.task).map_err(Error::internal)?;
    let item = ContentItem {
        id: row.id.clone(),
        title: task.title,
        sub_title: task.proc_inst_title,
        brief: None,
        image: None,
        author: task.creator_name,
        display_time: row.created_at,
        action: task.action,
        attach_info: None,
        attach_description: None,
    };
    // A task is seen by its assignee and by its creator (decisions 4.5). A login that nobody has had yet stands for
    // whoever comes to have it; from then on it is the person that counts.
    let assignee = row.assignee_user_id.as_deref().map(user_principal);
    let mut principals = vec![assignee.unwrap_or_else(|| login_principal(&row.assignee_login_id))];
    principals.extend(row.creator_id.as_deref().map(user_principal));
    Ok(Document {
        scope: Scope::new(row.tenant_id, module),
        id: row.id,
        display_time: row.created_at,
        item: serde_json::to_string(&item).map_err(Error::internal)?,
        title: item.title,
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        sub_title: item.sub_title.unwrap_or_default(),
        brief: String::new(),
        author: item.author.unwrap_or_default(),
        audience: Audience::Principals(principals),
    })
}
