//! Rules of department synchronisation.

use uuid::Uuid;

use super::{
    forms::{OrganizationDetails, OrganizationWrite},
    tree::{Tree, TreePosition},
};
use crate::{
    error::Result,
    platform::shared::{directory_rows::DirectoryRow, patch::written_text},
    store::{FromRow, Json, Value},
};

/// Stored department.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Organization {
    /// Source department id.
    pub org_id: String,
    /// Platform department id.
    pub platform_org_id: String,
    /// Source id of the parent.
    pub parent_id: Option<String>,
    /// Name.
    pub name: String,
    /// Sort order.
    pub order_no: i64,
    /// 1 chat allowed, 0 not allowed.
    pub enable_chat: i64,
    /// Privacy level.
    pub secret_level: i64,
    /// Whether messages override do-not-disturb.
    pub is_force_receive: bool,
    /// 1 enabled, 0 disabled.
    pub status: i64,
    /// Hidden.
    pub is_hidden: bool,
    /// Deleted; children and members stay, as HR systems delete in any order.
    pub is_deleted: bool,
    /// Details without rules.
    pub details: Json<OrganizationDetails>,
}

/// Canonical form of a UUID.
fn written_alike(id: &str) -> String {
    Uuid::parse_str(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}

impl OrganizationWrite {
    /// Resulting row.
    pub(super) fn apply(&self, known: Option<&Organization>, tree: &Tree) -> Result<Organization, String> {
        let name =
            written_text(self.name.as_ref(), known.map(|known| &known.name)).ok_or("name: is required")?;
        let platform_org_id = self
            .platform_org_id
            .as_deref()
            .filter(|id| !id.is_empty())
            .map(written_alike)
            .or_else(|| known.map(|known| known.platform_org_id.clone()))
            .unwrap_or_else(|| Uuid::new_v4().to_string());
        if tree.by_platform_id(&platform_org_id).is_some_and(|owner| *owner != self.org_id) {
            return Err(format!("platformOrgId: {platform_org_id:?} belongs to another department"));
        }
        let parent_id = self.parent(known, tree)?;
        // Children of a deleted department stay editable.
        let moves = known.is_none_or(|known| known.parent_id != parent_id);
        if let Some(parent_id) = parent_id.as_deref().filter(|_| moves) {
            tree.check_parent(&self.org_id, parent_id)?;
        }
        Ok(Organization {
            org_id: self.org_id.clone(),
            platform_org_id,
            parent_id,
            name,
            order_no: self.order_no.over_default(known.map(|known| &known.order_no), 0),
            enable_chat: self.enable_chat.over_default(known.map(|known| &known.enable_chat), 1),
            secret_level: self.secret_level.over_default(known.map(|known| &known.secret_level), 0),
            is_force_receive: self
                .is_force_receive
                .or(&self.force_receive)
                .over_default(known.map(|known| &known.is_force_receive), false),
            status: self.status.over_default(known.map(|known| &known.status), 1),
            is_hidden: self
                .is_hidden
                .or(&self.hidden)
                .over_default(known.map(|known| &known.is_hidden), false),
            is_deleted: self
                .is_deleted
                .or(&self.deleted)
                .over_default(known.map(|known| &known.is_deleted), false),
            details: self.details(known),
        })
    }

    /// Parent by `parentId`, else `platformParentId`.
    fn parent(&self, known: Option<&Organization>, tree: &Tree) -> Result<Option<String>, String> {
        let named = match (&self.parent_id, self.platform_parent_id.as_deref()) {
            (None, Some(platform_id)) if !platform_id.is_empty() => {
                let missing = || format!("platformParentId: there is no department {platform_id:?}");
                Some(tree.by_platform_id(&written_alike(platform_id)).ok_or_else(missing)?.clone())
            }
            (None, Some(_)) => Some(String::new()),
            (parent_id, _) => parent_id.clone(),
        };
        Ok(written_text(named.as_ref(), known.and_then(|known| known.parent_id.as_ref())))
    }

    fn details(&self, known: Option<&Organization>) -> Json<OrganizationDetails> {
        let text = |field: &Option<String>, of: fn(&OrganizationDetails) -> &Option<String>| {
            written_text(field.as_ref(), known.and_then(|known| of(&known.details).as_ref()))
        };
        Json(OrganizationDetails {
            org_num: text(&self.org_num, |details| &details.org_num),
            full_name: text(&self.full_name, |details| &details.full_name),
            full_path_name: text(&self.full_path_name, |details| &details.full_path_name),
            description: text(&self.description, |details| &details.description),
            telephone: text(&self.telephone, |details| &details.telephone),
            email: text(&self.email, |details| &details.email),
            principal: text(&self.principal, |details| &details.principal),
            level: self.level.over(known.and_then(|known| known.details.level.as_ref())),
            source: text(&self.source, |details| &details.source),
        })
    }
}

impl Organization {
    pub(super) fn place(&self) -> TreePosition {
        TreePosition {
            org_id: self.org_id.clone(),
            parent_id: self.parent_id.clone(),
            platform_org_id: self.platform_org_id.clone(),
            is_deleted: self.is_deleted,
        }
    }

    /// Whether documents change.
    pub(super) fn shows_otherwise(&self, before: &Self) -> bool {
        (&self.name, self.is_hidden, self.is_deleted) != (&before.name, before.is_hidden, before.is_deleted)
    }
}

impl DirectoryRow for Organization {
    const TABLE: &'static str = "organizations";
    const COLUMNS: &'static [&'static str] = &[
        "org_id",
        "platform_org_id",
        "parent_id",
        "name",
        "order_no",
        "enable_chat",
        "secret_level",
        "is_force_receive",
        "status",
        "is_hidden",
        "is_deleted",
        "details",
    ];
    const UNIQUE: &'static [&'static str] = &["platform_org_id"];
    const KIND: &'static str = "department";

    fn id(&self) -> &str {
        &self.org_id
    }

    fn values(&self) -> Result<Vec<Value>> {
        Ok(vec![
            Value::from(self.org_id.as_str()),
            self.platform_org_id.as_str().into(),
            self.parent_id.as_deref().into(),
            self.name.as_str().into(),
            self.order_no.into(),
            self.enable_chat.into(),
            self.secret_level.into(),
            self.is_force_receive.into(),
            self.status.into(),
            self.is_hidden.into(),
            self.is_deleted.into(),
            Value::json(&self.details)?,
        ])
    }

    fn leaves_something_unique(&self, before: &Self) -> bool {
        self.platform_org_id != before.platform_org_id
    }

    fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    fn status(&self) -> i64 {
        self.status
    }

    fn changed_fields(&self, before: &Self) -> Vec<&'static str> {
        let (ours, theirs) = (&self.details, &before.details);
        [
            ("parentId", self.parent_id != before.parent_id),
            ("platformOrgId", self.platform_org_id != before.platform_org_id),
            ("name", self.name != before.name),
            ("orderNo", self.order_no != before.order_no),
            ("enableChat", self.enable_chat != before.enable_chat),
            ("secretLevel", self.secret_level != before.secret_level),
            ("isForceReceive", self.is_force_receive != before.is_force_receive),
            ("status", self.status != before.status),
            ("isHidden", self.is_hidden != before.is_hidden),
            ("isDeleted", self.is_deleted != before.is_deleted),
            ("orgNum", ours.org_num != theirs.org_num),
            ("fullName", ours.full_name != theirs.full_name),
            ("fullPathName", ours.full_path_name != theirs.full_path_name),
            ("description", ours.description != theirs.description),
            ("telephone", ours.telephone != theirs.telephone),
            ("email", ours.email != theirs.email),
            ("principal", ours.principal != theirs.principal),
            ("level", ours.level != theirs.level),
            ("source", ours.source != theirs.source),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }
}
