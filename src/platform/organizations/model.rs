//! What a synchronised department must be.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use uuid::Uuid;

use super::repo;
use crate::{
    error::Result,
    platform::common::{check_id, written_text},
    store::Transaction,
};

/// A department as `PUT /v1/organizations/sync` takes it, core fields. A field that is absent or null means no
/// change, an empty string means set to null.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OrganizationWrite {
    /// Department id on the synchronising party's side.
    pub org_id: String,
    /// Parent department id on the synchronising party's side; one that exists or comes earlier in the call.
    pub parent_id: Option<String>,
    /// Platform-internal department id, a UUID; a random one when a new department has none.
    pub platform_org_id: Option<String>,
    /// Department name; required for a new department.
    pub name: Option<String>,
    /// 1 enabled, 0 disabled; default 1.
    pub status: Option<i64>,
    /// Hidden; default false.
    pub is_hidden: Option<bool>,
    /// Deleted; default false.
    pub is_deleted: Option<bool>,
}

/// A department as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, sea_orm::FromQueryResult)]
pub struct Organization {
    /// Department id on the synchronising party's side.
    pub org_id: String,
    /// Platform-internal department id.
    pub platform_org_id: String,
    /// Parent department id on the synchronising party's side.
    pub parent_id: Option<String>,
    /// Department name.
    pub name: String,
    /// 1 enabled, 0 disabled.
    pub status: i64,
    /// Hidden.
    pub is_hidden: bool,
    /// Deleted.
    pub is_deleted: bool,
}

impl OrganizationWrite {
    /// The row that this change leaves, given the tenant's departments as they stand.
    ///
    /// # Errors
    /// A message that names the field.
    pub fn apply(&self, known: &HashMap<String, Organization>) -> Result<Organization, String> {
        check_id(&self.org_id).map_err(|reason| reason.replacen("id:", "orgId:", 1))?;
        let before = known.get(&self.org_id);
        let text = |field: &Option<String>, of: fn(&Organization) -> Option<&String>| {
            written_text(field.as_ref(), before.and_then(of))
        };
        let name = text(&self.name, |organization| Some(&organization.name)).ok_or("name: is required")?;
        let status = self.status.or(before.map(|organization| organization.status)).unwrap_or(1);
        if !(0..=1).contains(&status) {
            return Err(format!("status: must be 1 (enabled) or 0 (disabled), not {status}"));
        }
        let platform_org_id = text(&self.platform_org_id, |organization| Some(&organization.platform_org_id))
            .unwrap_or_else(|| Uuid::new_v4().to_string());
        if Uuid::parse_str(&platform_org_id).is_err() {
            return Err("platformOrgId: must be a UUID".to_owned());
        }
        let parent_id = text(&self.parent_id, |organization| organization.parent_id.as_ref());
        // What lies below a department that was deleted can still be changed, and be removed.
        let moves = before.is_none_or(|before| before.parent_id != parent_id);
        if let Some(parent_id) = parent_id.as_deref().filter(|_| moves) {
            check_parent(&self.org_id, parent_id, known)?;
        }
        Ok(Organization {
            org_id: self.org_id.clone(),
            platform_org_id,
            parent_id,
            name,
            status,
            is_hidden: self.is_hidden.or(before.map(|organization| organization.is_hidden)).unwrap_or(false),
            is_deleted: self
                .is_deleted
                .or(before.map(|organization| organization.is_deleted))
                .unwrap_or(false),
        })
    }
}

/// Levels of departments, from the root down. Every search of a person carries the departments above him.
const MOST_LEVELS: usize = 64;

/// A parent must be there, and must not lie below the department itself or too deep.
fn check_parent(org_id: &str, parent_id: &str, known: &HashMap<String, Organization>) -> Result<(), String> {
    if parent_id == org_id {
        return Err("parentId: a department cannot be its own parent".to_owned());
    }
    let missing =
        || format!("parentId: there is no department {parent_id:?}; a parent comes before its children");
    let mut above = known.get(parent_id).filter(|parent| !parent.is_deleted).ok_or_else(missing)?;
    let mut seen = HashSet::new();
    while let Some(next) = above.parent_id.as_deref().filter(|next| seen.insert((*next).to_owned())) {
        if next == org_id {
            return Err(format!("parentId: {parent_id:?} lies below this department"));
        }
        let Some(organization) = known.get(next) else { break };
        above = organization;
        if seen.len() + 2 > MOST_LEVELS {
            return Err(format!("parentId: departments may be at most {MOST_LEVELS} levels deep"));
        }
    }
    Ok(())
}

/// The ids of the tenant's departments that are not deleted.
pub async fn ids(transaction: &Transaction, tenant_id: i64) -> Result<HashSet<String>> {
    let known = repo::load(transaction, tenant_id).await?;
    Ok(known.into_values().filter(|known| !known.is_deleted).map(|known| known.org_id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(org_id: &str, parent_id: &str) -> OrganizationWrite {
        OrganizationWrite {
            org_id: org_id.to_owned(),
            parent_id: Some(parent_id.to_owned()),
            name: Some(org_id.to_owned()),
            ..OrganizationWrite::default()
        }
    }

    #[test]
    fn parents_come_first_and_make_no_cycle() {
        let mut known = HashMap::new();
        assert!(write("b", "a").apply(&known).unwrap_err().starts_with("parentId:"));
        for (org_id, parent_id) in [("a", ""), ("b", "a"), ("c", "b")] {
            let organization = write(org_id, parent_id).apply(&known).unwrap();
            known.insert(org_id.to_owned(), organization);
        }
        assert!(write("a", "a").apply(&known).unwrap_err().contains("own parent"));
        assert!(write("a", "c").apply(&known).unwrap_err().contains("lies below"));
        assert_eq!(write("c", "").apply(&known).unwrap().parent_id, None);
    }

    #[test]
    fn a_platform_id_is_a_uuid() {
        let change = OrganizationWrite { platform_org_id: Some("x".to_owned()), ..write("a", "") };
        assert!(change.apply(&HashMap::new()).unwrap_err().starts_with("platformOrgId:"));
    }

    #[test]
    fn departments_are_at_most_64_levels_deep() {
        let mut known = HashMap::new();
        let mut deepest = 0;
        for level in 1..200 {
            let parent = if level == 1 { String::new() } else { (level - 1).to_string() };
            match write(&level.to_string(), &parent).apply(&known) {
                Ok(organization) => {
                    known.insert(level.to_string(), organization);
                    deepest = level;
                }
                Err(reason) => {
                    assert!(reason.contains("64 levels"), "{reason}");
                    break;
                }
            }
        }
        assert_eq!(deepest, 64);
    }
}
