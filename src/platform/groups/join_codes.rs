//! Join codes. Wrong guesses are throttled per person.

use std::sync::Arc;

use aws_lc_rs::rand;

use super::{
    forms::{Group, JoinCode},
    membership::{admit, new_among},
    people::NamedPerson,
    repo::{joining, views},
    rules::GroupOperation,
    service::SeenGroup,
};
use crate::{
    auth::{
        caller::Caller,
        throttle::{Throttled, ThrottledAccount},
    },
    error::{Error, Result},
    platform::groups::GroupsState,
    store::{Transaction, now_millis},
};

const ALPHABET: &[u8] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const LENGTH: usize = 8;

/// Milliseconds.
const VALID_FOR: i64 = 7 * 24 * 60 * 60 * 1_000;

/// `is_override` replaces the code. 403 for ordinary members.
pub(super) async fn make(
    state: &GroupsState,
    caller: Arc<Caller>,
    group_id: String,
    is_override: bool,
) -> Result<JoinCode> {
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(transaction, &caller, &group_id).await?;
            group.permit(GroupOperation::MakeJoinCode)?;
            let now = now_millis();
            if !is_override && let Some(known) = joining::find_code(transaction, &group_id, now).await? {
                return Ok(known);
            }
            let (code, expires_at) = (free_code(transaction).await?, now + VALID_FOR);
            joining::put_code(transaction, &group_id, group.tenant_id, &code, expires_at).await?;
            Ok(JoinCode { code, expire_date: expires_at.to_string() })
        })
    });
    job.await
}

/// 404 for an unknown code, 429 after too many.
pub(super) async fn show(state: &GroupsState, caller: &Caller, typed: &str) -> Result<Group> {
    let user_id = &caller.require_user()?.person.user_id;
    let group_id = find_group(state, caller, typed).await?.1;
    // A valid code also shows a group that is not public.
    let found = views::find_by_id(state.store.reader(), caller.tenant.id, user_id, &group_id).await?;
    found.ok_or_else(unknown)
}

/// Members keep their role. Errors as [`show`]; 409 if the group is full.
pub(super) async fn join(state: &GroupsState, caller: Arc<Caller>, typed: &str) -> Result<Group> {
    let code = find_group(state, &caller, typed).await?.0;
    let user_id = caller.require_user()?.person.user_id.clone();
    let tenant_id = caller.tenant.id;
    let job = state.store.write(move |transaction| {
        Box::pin(async move {
            let found = joining::find_group(transaction, tenant_id, &code, now_millis()).await?;
            // The code may have been replaced meanwhile.
            let group_id = found.ok_or_else(unknown)?;
            let user = caller.require_user()?;
            let person = NamedPerson::known(tenant_id, &user.person.user_id);
            let added = new_among(transaction, &group_id, vec![person]).await?;
            admit(transaction, (&group_id, tenant_id), &added, user).await?;
            Ok(group_id)
        })
    });
    let group_id = job.await?;
    let joined = views::find(state.store.reader(), tenant_id, &user_id, &group_id).await?;
    joined.ok_or_else(unknown)
}

/// Only well-formed unknown codes count as guesses.
async fn find_group(state: &GroupsState, caller: &Caller, typed: &str) -> Result<(String, String)> {
    let code = typed.to_ascii_uppercase();
    if code.len() != LENGTH || !code.bytes().all(|byte| ALPHABET.contains(&byte)) {
        return Err(unknown());
    }
    let account = ThrottledAccount::join_codes_of(caller.tenant.id, &caller.require_user()?.person.user_id);
    let guess = state.throttle.begin_guess(account).await?.map_err(|Throttled(wait)| {
        Error::too_many_requests("joincode: too many unknown codes; try again later", wait)
    })?;
    let found = joining::find_group(state.store.reader(), caller.tenant.id, &code, now_millis()).await;
    if !matches!(found, Ok(None)) {
        guess.withdrawn().await?;
    }
    Ok((code, found?.ok_or_else(unknown)?))
}

fn unknown() -> Error {
    Error::not_found("joincode: unknown or expired")
}

async fn free_code(transaction: &Transaction) -> Result<String> {
    loop {
        let code = random_code()?;
        if !joining::is_taken(transaction, &code).await? {
            return Ok(code);
        }
    }
}

fn random_code() -> Result<String> {
    let mut code = String::with_capacity(LENGTH);
    while code.len() < LENGTH {
        let mut bytes = [0; 2 * LENGTH];
        rand::fill(&mut bytes).map_err(|_| Error::internal("the system returned no random bytes"))?;
        // Values without a character are redrawn, to avoid bias.
        let characters = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32)));
        code.extend(characters.take(LENGTH - code.len()).map(|byte| char::from(*byte)));
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use super::*;

    #[test]
    fn codes_use_the_whole_alphabet() {
        let codes: HashSet<String> = (0..500).map(|_| random_code().unwrap()).collect();
        assert_eq!(codes.len(), 500);
        assert!(codes.iter().all(|code| code.len() == LENGTH));
        let used: BTreeSet<u8> = codes.iter().flat_map(|code| code.bytes()).collect();
        assert_eq!(used, ALPHABET.iter().copied().collect());
        assert_eq!(ALPHABET.len(), 31);
    }
}
