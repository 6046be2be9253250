//! Names of the applications and people that acted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use crate::{
    audit::records::KeptDeed,
    auth::{applications, tenants},
    error::Result,
    platform::users::lookups::find_names,
    store::Connection,
};

/// The client id of an operator in a browser begins with this.
const OPERATOR: &str = "operator:";

/// A stored audit record with the present names of its actors.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NamedDeed {
    /// The record.
    #[serde(flatten)]
    pub(super) event: KeptDeed,
    /// The application's name; null if it is not registered.
    pub(super) application: Option<String>,
    /// The person's name; null if it is not known.
    pub(super) person: Option<String>,
}

/// Adds the names of the actors.
///
/// A person belongs to the tenant of the application, or to that of the operator.
pub(super) async fn name_actors(connection: &Connection, events: Vec<KeptDeed>) -> Result<Vec<NamedDeed>> {
    let client_ids: BTreeSet<&str> = events.iter().filter_map(|event| event.client_id.as_deref()).collect();
    let client_ids: Vec<&str> = client_ids.into_iter().collect();
    let mut homes = HashMap::new();
    for operator in client_ids.iter().filter(|id| id.starts_with(OPERATOR)) {
        let code = operator.rsplit('@').next().unwrap_or_default();
        if let Some(tenant) = tenants::find_by_code(connection, code).await? {
            homes.insert((*operator).to_owned(), tenant.id);
        }
    }
    let mut applications = HashMap::new();
    for (client_id, tenant_id, name) in applications::find_names(connection, &client_ids).await? {
        homes.insert(client_id.clone(), tenant_id);
        applications.insert(client_id, name);
    }
    let home_of = |event: &KeptDeed| homes.get(event.client_id.as_deref()?).copied();
    let mut asked: BTreeMap<i64, BTreeSet<&str>> = BTreeMap::new();
    for event in &events {
        if let (Some(tenant_id), Some(user_id)) = (home_of(event), event.user_id.as_deref()) {
            asked.entry(tenant_id).or_default().insert(user_id);
        }
    }
    let mut people = HashMap::new();
    for (tenant_id, user_ids) in asked {
        let user_ids: Vec<&str> = user_ids.into_iter().collect();
        for (user_id, name) in find_names(connection, tenant_id, &user_ids).await? {
            people.insert((tenant_id, user_id), name);
        }
    }
    let named = events.into_iter().map(|event| {
        let application = event.client_id.as_ref().and_then(|id| applications.get(id)).cloned();
        let person = home_of(&event).zip(event.user_id.clone());
        let person = person.and_then(|person| people.get(&person)).cloned();
        NamedDeed { event, application, person }
    });
    Ok(named.collect())
}
