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
    platform::shared::{
        documents::{DocumentRows, Selection, document},
        known_id::known_id,
    },
    store::Connection,
};

/// Rows of tasks, in every state.
pub const ROWS: DocumentRows = DocumentRows {
    table: "tasks",
    columns: repo::COLUMNS,
    from: "tasks WHERE",
    tenant: "+tenant_id",
    id: "id",
    sequence: "sequence",
};

/// Documents of the selected tasks, each in its current module.
pub async fn read(reader: &Connection, selection: Selection<'_>) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for row in ROWS.read::<StoredTask>(reader, selection).await? {
        if let Some(module) = row.status()?.module() {
            documents.push(into_document(row, module)?);
        }
    }
    Ok(documents)
}

/// Documents in a full scan.
pub async fn count(reader: &Connection) -> Result<u64> {
    let found: Vec<TaskStatus> =
        TaskStatus::ALL.into_iter().filter(|status| status.module().is_some()).collect();
    Ok(repo::count(reader, &found).await?)
}

fn into_document(row: StoredTask, module: &str) -> Result<Document> {
    let task: Task = serde_json::from_str(&row.task).map_err(Error::internal)?;
    let item = ContentItem {
        id: row.id,
        title: task.title,
        sub_title: task.proc_inst_title,
        author: task.creator_name,
        display_time: row.created_at,
        action: task.action,
        ..ContentItem::default()
    };
    // Visible to assignee and creator, by login until the person is known.
    let assignee = row.assignee_user_id.as_deref().map(user_principal);
    let mut principals = vec![assignee.unwrap_or_else(|| login_principal(&row.assignee_login_id))];
    principals.extend(row.creator_id.as_deref().map(user_principal));
    Ok(Document {
        other_names: known_id(&task.app_task_id).map(str::to_owned).into_iter().collect(),
        ..document(Scope::new(row.tenant_id, module), item, Audience::Principals(principals))?
    })
}
