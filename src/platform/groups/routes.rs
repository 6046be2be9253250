//! `/v1/groups` and `/v1/groups/{groupId}`.

pub mod joining;
pub mod members;

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use super::{
    creation,
    forms::{Group, GroupChange, GroupForm},
    repo::views,
    roles,
};
use crate::{
    auth::extract::Identified,
    error::{Error, Result},
    http::{
        envelope::{Empty, Envelope},
        extract::{JsonObject, PathParameter, QueryParameters},
    },
    platform::groups::GroupsState,
    store::Store,
};

/// Group list parameters.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct GroupsQuery {
    /// Epoch milliseconds as text: only groups with name, icon, members or roles changed since. Directory changes
    /// count.
    last_updated_date: Option<String>,
}

impl GroupsQuery {
    fn since(&self) -> Result<i64> {
        let text = self.last_updated_date.as_deref().filter(|text| !text.is_empty());
        text.map_or(Ok(i64::MIN), str::parse)
            .map_err(|_| Error::bad_request("lastUpdatedDate: must be epoch milliseconds"))
    }
}

/// Lists groups visible to the caller, oldest first, including public ones of the tenant.
#[operation(groups, 200 = "The groups")]
pub async fn list_groups(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<GroupsQuery>,
) -> Result<Envelope<Vec<Group>>> {
    let (user, since) = (caller.require_user()?, query.since()?);
    let (tenant_id, user_id) = (caller.tenant.id, user.person.user_id.clone());
    let read =
        |store: Store| async move { Ok(views::list(store.reader(), tenant_id, &user_id, since).await?) };
    Ok(Envelope::list(state.store.scan(read).await?))
}

/// Creates a group owned by the caller and returns its id.
///
/// Fails with 400 naming unknown accounts. Fails with 403 for people who blacklisted the caller, or if all main departments lie in one with
/// `enableChat` 0.
#[operation(groups, 200 = "The group's id", 409 = "A person has the maximum of groups")]
pub async fn create_group(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    JsonObject(form): JsonObject<GroupForm>,
) -> Result<Envelope<String>> {
    let new = form.checked(state.limits.batch_items)?;
    Ok(Envelope::of(creation::create(&state, caller, new).await?))
}

/// Changes a group's name, icon or openness; for its owner and administrators.
#[operation(groups, 200 = "The group was changed", 404 = "There is no such group")]
pub async fn change_group(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
    JsonObject(change): JsonObject<GroupChange>,
) -> Result<Envelope<Empty>> {
    creation::change(&state, caller, group_id, change.checked()?).await?;
    Ok(Envelope::empty())
}

/// Ends a group; for its owner. The group and its content are invisible at once.
#[operation(groups, 200 = "The group was ended", 404 = "There is no such group")]
pub async fn end_group(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<Empty>> {
    roles::end(&state, caller, group_id).await?;
    Ok(Envelope::empty())
}

/// Returns a group as seen by the caller.
#[operation(groups, 200 = "The group", 404 = "There is no such group")]
pub async fn show_group(
    State(state): State<GroupsState>,
    Identified(caller): Identified,
    PathParameter(group_id): PathParameter,
) -> Result<Envelope<Group>> {
    let user_id = &caller.require_user()?.person.user_id;
    let group = views::find(state.store.reader(), caller.tenant.id, user_id, &group_id).await?;
    group.map(Envelope::of).ok_or_else(|| Error::not_found("groupId: there is no such group"))
}
