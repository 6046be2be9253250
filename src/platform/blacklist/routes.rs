//! `/v1/users/blacklist` and `/v1/users/blacklists`: the caller's own list.

use axum::extract::State;
use serde::Deserialize;
use trawl_macros::operation;

use super::repo::{self, Addition, BlacklistEntry, BlacklistOwner};
use crate::{
    auth::{caller::Caller, extract::Identified},
    error::{Error, Result},
    http::{
        envelope::{Empty, Envelope},
        extract::QueryParameters,
    },
    platform::{blacklist::BlacklistState, shared::patch::check_id, users::picture::public_address},
};

/// Person to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct BlacklistTarget {
    /// Source user id.
    black_user_id: Option<String>,
}

impl BlacklistTarget {
    fn checked(self) -> Result<String> {
        let id = self.black_user_id.unwrap_or_default();
        check_id(&id).map_err(|reason| Error::bad_request(reason.replacen("id:", "blackUserId:", 1)))?;
        Ok(id)
    }
}

/// Page of the list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BlacklistPage {
    /// Maximum entries; absent: all.
    limit: Option<u32>,
    /// Entries to skip.
    offset: Option<u32>,
}

/// Adds a person to the caller's blacklist.
#[operation(
    directory, 200 = "The person was listed",
    404 = "There is no such user",
    409 = "The person is listed already",
)]
pub async fn add_to_blacklist(
    State(state): State<BlacklistState>,
    Identified(caller): Identified,
    QueryParameters(meant): QueryParameters<BlacklistTarget>,
) -> Result<Envelope<Empty>> {
    let (owner, black_user_id) = (owner(&caller)?, meant.checked()?);
    if black_user_id == owner.user_id {
        return Err(Error::bad_request("blackUserId: must not be the caller"));
    }
    let addition = state.store.write(move |transaction| {
        Box::pin(async move { Ok(repo::add(transaction, &owner, &black_user_id).await?) })
    });
    match addition.await? {
        Addition::Added => Ok(Envelope::empty()),
        Addition::There => Err(Error::conflict("blackUserId: this user is on the blacklist already")),
        Addition::Unknown => Err(Error::not_found("blackUserId: there is no such user")),
    }
}

/// Removes a person from the caller's blacklist.
#[operation(directory, 200 = "The person was removed", 404 = "The person is not listed")]
pub async fn remove_from_blacklist(
    State(state): State<BlacklistState>,
    Identified(caller): Identified,
    QueryParameters(meant): QueryParameters<BlacklistTarget>,
) -> Result<Envelope<Empty>> {
    let (owner, black_user_id) = (owner(&caller)?, meant.checked()?);
    let removed = state.store.write(move |transaction| {
        Box::pin(async move { Ok(repo::remove(transaction, &owner, &black_user_id).await?) })
    });
    if removed.await? {
        Ok(Envelope::empty())
    } else {
        Err(Error::not_found("blackUserId: this user is not on the blacklist"))
    }
}

/// Lists the caller's blacklist, oldest entries first.
#[operation(directory, 200 = "The list")]
pub async fn list_blacklist(
    State(state): State<BlacklistState>,
    Identified(caller): Identified,
    QueryParameters(part): QueryParameters<BlacklistPage>,
) -> Result<Envelope<Vec<BlacklistEntry>>> {
    let owner = owner(&caller)?;
    let (mut entries, total) =
        repo::list(state.store.reader(), &owner, part.limit, part.offset.unwrap_or_default()).await?;
    let public_url = state.public_url;
    for entry in &mut entries {
        entry.picture = entry.picture.take().map(|picture| public_address(&public_url, &picture));
    }
    Ok(Envelope { total: Some(total), ..Envelope::list(entries) })
}

fn owner(caller: &Caller) -> Result<BlacklistOwner> {
    let user = caller.require_user()?;
    Ok(BlacklistOwner { tenant_id: caller.tenant.id, user_id: user.person.user_id.clone() })
}
