//! Codes that let people of the tenant into a group, closed or open (decisions 9.4).
//!
//! A code is short, so that people can tell it to each other. So wrong ones are counted by person, as failed logins are by account.

use std::sync::Arc;

use aws_lc_rs::rand;

use super::{
    fields::{Group, JoinCode},
    membership::{admit, new_among},
    model::{Operation, SeenGroup},
    people::Person,
    repo::{joining, views},
};
use crate::{
    app::App,
    auth::{
        attempts::{Account, TooMany},
        caller::Caller,
    },
    error::{Error, Result},
    store::{Transaction, now_millis},
};

/// Characters of a code: upper case, without those that look alike (0 and O, 1, I and L).
const ALPHABET: &[u8] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const LENGTH: usize = 8;

/// How long a code is valid, in milliseconds.
const VALID_FOR: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Gives a group a join code: the one that it has, or where `is_override` is set, a new one in its place.
///
/// # Errors
/// 403 for ordinary members.
pub(super) async fn make(
    app: &Arc<App>,
    caller: Arc<Caller>,
    group_id: String,
    is_override: bool,
) -> Result<JoinCode> {
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let group = SeenGroup::find(&**transaction, &caller, &group_id).await?;
            group.permit(Operation::MakeJoinCode)?;
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

/// The group that a code opens.
///
/// # Errors
/// 404 for a code that opens nothing in the tenant, 429 after too many of them.
pub(super) async fn show(app: &App, caller: &Caller, typed: &str) -> Result<Group> {
    let user_id = &caller.require_user()?.person.user_id;
    let group_id = find_group(app, caller, typed).await?.1;
    // To who has the code it is there, public or not.
    let found = views::find_by_id(app.store.reader(), caller.tenant.id, user_id, &group_id).await?;
    found.ok_or_else(unknown)
}

/// Lets the caller into the group that a code opens; who is in it stays as he is.
///
/// # Errors
/// As [`show`]; 409 where the group is full.
pub(super) async fn join(app: &Arc<App>, caller: Arc<Caller>, typed: &str) -> Result<Group> {
    let code = find_group(app, &caller, typed).await?.0;
    let user_id = caller.require_user()?.person.user_id.clone();
    let tenant_id = caller.tenant.id;
    let joining_app = Arc::clone(app);
    let job = app.store.write(move |transaction| {
        Box::pin(async move {
            let found = joining::find_group(&**transaction, tenant_id, &code, now_millis()).await?;
            // It may have been given another one meanwhile.
            let group_id = found.ok_or_else(unknown)?;
            let user = caller.require_user()?;
            let person = Person::known(tenant_id, &user.person.user_id);
            let added = new_among(transaction, &group_id, vec![person]).await?;
            admit(&joining_app, transaction, (&group_id, tenant_id), &added, user).await?;
            Ok(group_id)
        })
    });
    let group_id = job.await?;
    // Not in the write, which others wait for.
    let joined = views::find(app.store.reader(), tenant_id, &user_id, &group_id).await?;
    joined.ok_or_else(unknown)
}

/// The code that somebody means by what he typed, and the id of the group that it opens. Only a code that opens nothing counts as a
/// wrong guess; what cannot be a code is none at all.
///
/// # Errors
/// 404 for a code that opens nothing in the tenant, 429 after too many of them.
async fn find_group(app: &App, caller: &Caller, typed: &str) -> Result<(String, String)> {
    let code = typed.to_ascii_uppercase();
    if code.len() != LENGTH || !code.bytes().all(|byte| ALPHABET.contains(&byte)) {
        return Err(unknown());
    }
    let account = Account::join_codes_of(caller.tenant.id, &caller.require_user()?.person.user_id);
    let guess = app.attempts.begin_guess(account).map_err(|TooMany(wait)| {
        Error::too_many_requests("joincode: too many that open nothing; try again later", wait)
    })?;
    let found = joining::find_group(app.store.reader(), caller.tenant.id, &code, now_millis()).await;
    if !matches!(found, Ok(None)) {
        guess.succeeded();
    }
    Ok((code, found?.ok_or_else(unknown)?))
}

fn unknown() -> Error {
    Error::not_found("joincode: there is no such code, or it is not valid any more")
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
        rand::fill(&mut bytes).map_err(|_| Error::internal("no random bytes could be had"))?;
        // Of 32 numbers 31 are a character; the last one is drawn again, so that all are as likely.
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
    fn codes_are_of_the_alphabet_and_use_all_of_it() {
        let codes: HashSet<String> = (0..500).map(|_| random_code().unwrap()).collect();
        assert_eq!(codes.len(), 500);
        assert!(codes.iter().all(|code| code.len() == LENGTH));
        let used: BTreeSet<u8> = codes.iter().flat_map(|code| code.bytes()).collect();
        assert_eq!(used, ALPHABET.iter().copied().collect());
        assert_eq!(ALPHABET.len(), 31);
    }
}
