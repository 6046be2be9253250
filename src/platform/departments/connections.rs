//! Departments around a department.

use super::documents::DEPARTMENT;
use crate::{
    error::Result,
    platform::shared::connections::{Connections, RelatedKey, Relation},
    store::{Connection, sql},
};

const MAX_BELOW: u64 = 20;

/// The department above, and those directly below by name.
pub async fn find(reader: &Connection, tenant_id: i64, id: &str) -> Result<Connections> {
    let above = sql(
        "SELECT parent_id FROM organizations WHERE tenant_id = ? AND org_id = ? AND parent_id IS NOT NULL",
        [tenant_id.into(), id.into()],
    );
    let below = sql(
        "SELECT org_id FROM organizations WHERE tenant_id = ? AND parent_id = ? AND NOT is_hidden AND NOT is_deleted \
         ORDER BY name, org_id LIMIT ?",
        [tenant_id.into(), id.into(), MAX_BELOW.into()],
    );
    let mut related = Vec::new();
    for (relation, statement) in [(Relation::Above, above), (Relation::Below, below)] {
        let ids: Vec<String> = statement.fetch_values(reader).await?;
        related.extend(ids.into_iter().map(|id| RelatedKey { relation, module: DEPARTMENT, id }));
    }
    Ok(Connections { people: Vec::new(), related })
}
