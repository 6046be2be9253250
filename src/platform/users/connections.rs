//! Departments of a person, and people of a department.

use super::documents::departments_of;
use crate::{
    error::Result,
    platform::{
        departments::documents::DEPARTMENT,
        shared::connections::{ConnectedPerson, Connections, PersonRole, RelatedKey, Relation},
    },
    store::{Connection, sql},
};

const MAX_PEOPLE: u64 = 20;

/// The departments of a person, the own one first.
pub async fn find(reader: &Connection, tenant_id: i64, id: &str) -> Result<Connections> {
    let departments = departments_of(reader, tenant_id, id).await?;
    let related = |id| RelatedKey { relation: Relation::Department, module: DEPARTMENT, id };
    Ok(Connections { people: Vec::new(), related: departments.into_iter().map(related).collect() })
}

/// Visible people of a department, by name.
pub async fn of_department(
    reader: &Connection,
    tenant_id: i64,
    org_id: &str,
) -> Result<Vec<ConnectedPerson>> {
    let statement = sql(
        "SELECT user_id FROM users WHERE tenant_id = ? AND org_id = ? AND NOT is_deleted AND NOT is_hidden \
         ORDER BY name, user_id LIMIT ?",
        [tenant_id.into(), org_id.into(), MAX_PEOPLE.into()],
    );
    let ids: Vec<String> = statement.fetch_values(reader).await?;
    Ok(ids.into_iter().map(|id| ConnectedPerson::known(PersonRole::Member, id)).collect())
}
