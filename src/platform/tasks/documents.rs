//! Index documents of tasks.

use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Document, Scope};

pub use super::states::{DONE, TODO};
use super::{
    forms::{Task, TaskStatus},
    repo::{self, StoredTask},
};
use crate::{
    error::{Error, Result},
    identity::principals::{login_principal, user_principal},
    platform::shared::known_id::known_id,
    store::Connection,
};

/// Documents of these ids, each in its current module.
pub async fn find(reader: &Connection, tenant_id: i64, ids: &[String]) -> Result<Vec<Document>> {
    into_documents(repo::find(reader, tenant_id, ids).await?)
}

/// Up to `limit` documents after `sequence`, and the last sequence.
pub async fn scan(reader: &Connection, sequence: i64, limit: u64) -> Result<Option<(Vec<Document>, i64)>> {
    let rows = repo::scan(reader, sequence, limit).await?;
    let Some(last) = rows.last().map(|row| row.sequence) else { return Ok(None) };
    Ok(Some((into_documents(rows)?, last)))
}

/// Documents in a full scan.
pub async fn count(reader: &Connection) -> Result<i64> {
    let found: Vec<TaskStatus> =
        TaskStatus::ALL.into_iter().filter(|status| status.module().is_some()).collect();
    Ok(repo::count(reader, &found).await?)
}

fn into_documents(rows: Vec<StoredTask>) -> Result<Vec<Document>> {
    let mut documents = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(module) = row.status()?.module() {
            documents.push(into_document(row, module)?);
        }
    }
    Ok(documents)
}

fn into_document(row: StoredTask, module: &str) -> Result<Document> {
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
    // Visible to assignee and creator, by login until the person is known.
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
        other_names: known_id(&task.app_task_id).map(str::to_owned).into_iter().collect(),
        text: None,
        sub_title: item.sub_title.unwrap_or_default(),
        brief: String::new(),
        author: item.author.unwrap_or_default(),
        audience: Audience::Principals(principals),
    })
}
