//! `/v1/groups` and `/v1/groups/{groupId}`: each person's groups, as he sees them.

pub mod joining;
pub mod members;

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    creation,
    fields::{Group, GroupChange, GroupForm},
    repo::views,
    roles,
};
use crate::{
    api::{
        envelope::{BodyRefusals, Envelope, FailureEnvelope, Refusals},
        extract::{Identified, JsonObject, PathParameter, QueryParameters},
    },
    app::App,
    error::{Error, Result},
};

/// An answer of which there is nothing more to say.
type Done = Envelope<Map<String, Value>>;

fn done() -> Done {
    Envelope::of(Map::new())
}

/// Which groups.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct GroupsQuery {
    /// Epoch milliseconds as text: only groups that changed then or later, by their name, icon, members or roles,
    /// also where the directory has a member come or go.
    last_updated_date: Option<String>,
}

impl GroupsQuery {
    fn since(&self) -> Result<i64> {
        let text = self.last_updated_date.as_deref().filter(|text| !text.is_empty());
        text.map_or(Ok(i64::MIN), str::parse)
            .map_err(|_| Error::bad_request("lastUpdatedDate: must be epoch milliseconds"))
    }
}

/// Lists the groups that the caller sees: his own, those that he is an outer member of, and the open ones of the tenant, in the
/// order in which they were made.
#[utoipa::path(
    get, path = "/v1/groups", tag = "groups", params(GroupsQuery),
    responses((status = 200, description = "The groups", body = Envelope<Vec<Group>>), Refusals)
)]
pub async fn list_groups(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<GroupsQuery>,
) -> Result<Envelope<Vec<Group>>> {
    let (user, since) = (caller.require_user()?, query.since()?);
    // The members of each of them are counted.
    let (tenant_id, user_id) = (caller.tenant.id, user.person.user_id.clone());
    let read = |reader| async move { Ok(views::list(&reader, tenant_id, &user_id, since).await?) };
    Ok(Envelope::list(app.store.scan(read).await?))
}

/// Makes a group, and answers its id. The caller is its owner.
///
/// Accounts that nobody knows are refused by name, and nothing is made then. 403 where one of them has the caller on his
/// blacklist, and where everybody, the caller included, is in one department without chat (`enableChat` 0) or below it, by main
/// department.
#[utoipa::path(
    post, path = "/v1/groups", tag = "groups", request_body = GroupForm,
    responses(
        (status = 200, description = "The group's id", body = Envelope<String>),
        Refusals, BodyRefusals,
        (status = 409, description = "Somebody is in as many groups as one may be", body = FailureEnvelope),
    )
)]
pub async fn create_group(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<GroupForm>,
) -> Result<Envelope<String>> {
    let new = form.checked(app.config.limits.batch_items)?;
    Ok(Envelope::of(creation::create(&app, caller, new).await?))
}

/// Changes a group's name, its icon, or whether it is open. For its owner and its administrators.
#[utoipa::path(
    put, path = "/v1/groups/{groupId}", tag = "groups", request_body = GroupChange,
    params(("groupId" = String, Path, description = "Group id")),
    responses(
        (status = 200, description = "It is changed", body = Envelope<Object>),
        Refusals, BodyRefusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn change_group(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    JsonObject(change): JsonObject<GroupChange>,
) -> Result<Done> {
    creation::change(&app, caller, group_id, change.checked()?).await?;
    Ok(done())
}

/// Ends a group, for its owner. Nobody sees it, or what is in it, from the answer on.
#[utoipa::path(
    delete, path = "/v1/groups/{groupId}", tag = "groups",
    params(("groupId" = String, Path, description = "Group id")),
    responses(
        (status = 200, description = "It is gone", body = Envelope<Object>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn end_group(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Done> {
    roles::end(&app, caller, group_id).await?;
    Ok(done())
}

/// A group as the caller sees it.
#[utoipa::path(
    get, path = "/v1/groups/{groupId}/info", tag = "groups",
    params(("groupId" = String, Path, description = "Group id")),
    responses(
        (status = 200, description = "The group", body = Envelope<Group>),
        Refusals,
        (status = 404, description = "There is no such group", body = FailureEnvelope),
    )
)]
pub async fn show_group(
    State(app): State<Arc<App>>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<Group>> {
    let user_id = &caller.require_user()?.person.user_id;
    let group = views::find(app.store.reader(), caller.tenant.id, user_id, &group_id).await?;
    group.map(Envelope::of).ok_or_else(|| Error::not_found("groupId: there is no such group"))
}
