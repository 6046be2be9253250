//! People who have to do with a task.

use super::{forms::Task, repo};
use crate::{
    error::{Error, Result},
    platform::shared::connections::{ConnectedPerson, Connections, PersonRole},
    store::Connection,
};

/// Creator and assignee.
pub async fn find(reader: &Connection, tenant_id: i64, id: &str) -> Result<Connections> {
    let Some(row) = repo::find(reader, tenant_id, id).await? else {
        return Ok(Connections::default());
    };
    let task: Task = serde_json::from_str(&row.task).map_err(Error::internal)?;
    let creator =
        ConnectedPerson { role: PersonRole::Creator, name: task.creator_name, user_id: row.creator_id };
    // Nobody learns more of an unknown assignee than their login.
    let name = Some(row.assignee_login_id);
    let assignee = ConnectedPerson { role: PersonRole::Assignee, name, user_id: row.assignee_user_id };
    Ok(Connections { people: vec![creator, assignee], related: Vec::new() })
}
