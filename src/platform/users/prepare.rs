use std::collections::HashMap;

use secrecy::SecretString;
use serde_json::value::RawValue;

use super::{
    forms::UserWrite,
    password::{self, PasswordHash},
    picture::Picture,
    rules::UserChange,
};
use crate::{
    budget::BodyReservation,
    error::{Error, Result},
    http::extract::reserve,
    platform::{
        shared::{
            patch::{SyncFailure, Written},
            sync::{ParsedRows, read_rows},
        },
        users::UsersState,
    },
    store::{Connection, find_in},
};

/// 503 without memory for pictures.
pub(super) async fn prepare(
    state: &UsersState,
    tenant_id: i64,
    rows: Vec<Box<RawValue>>,
) -> Result<ParsedRows<UserChange>> {
    let ParsedRows { rows, mut failures } = read_rows(rows, "userId", |row: &UserWrite| &row.user_id).await?;
    let most_bytes = state.limits.picture_bytes;
    // Inflated pictures count towards the body budget.
    let reservation = BodyReservation::current();
    let read = tokio::task::spawn_blocking(move || read_changes(rows, most_bytes, reservation.as_ref()));
    let (mut changes, refused) = read.await.map_err(Error::internal)??;
    failures.extend(refused);
    hash_passwords(state, tenant_id, &mut changes).await?;
    Ok(ParsedRows { rows: changes.into_iter().map(|(change, _)| change).collect(), failures })
}

type Unhashed = (UserChange, Option<SecretString>);

type Read = (Vec<Unhashed>, Vec<SyncFailure>);

fn read_changes(
    rows: Vec<UserWrite>,
    most_bytes: usize,
    reservation: Option<&BodyReservation>,
) -> Result<Read> {
    let mut changes = Vec::with_capacity(rows.len());
    let mut failures = Vec::new();
    for row in rows {
        let id = row.user_id.clone();
        match read_change(row, most_bytes) {
            Ok(change) => {
                if let (Some(reservation), Some(Picture::Content(picture))) = (reservation, &change.0.picture)
                {
                    reserve(reservation, picture.content.len(), || {
                        let most = reservation.max_share();
                        format!(
                            "pictureParam: all pictures of a call must be at most {most} bytes with its body"
                        )
                    })?;
                }
                changes.push(change);
            }
            Err(message) => failures.push(SyncFailure { id, message }),
        }
    }
    Ok((changes, failures))
}

fn read_change(mut form: UserWrite, most_bytes: usize) -> Result<Unhashed, String> {
    form.check()?;
    let picture = match std::mem::take(&mut form.picture_param) {
        Written::Keep => None,
        Written::Clear => Some(Picture::None),
        Written::Set(parameter) => parameter.read(most_bytes)?,
    };
    let (password_hash, password) = match std::mem::take(&mut form.password) {
        Written::Keep => (Written::Keep, None),
        Written::Clear => (Written::Clear, None),
        Written::Set(sent) => (Written::Keep, Some(password::canonical(&sent)?)),
    };
    Ok((UserChange { form, password_hash, picture }, password))
}

/// A hash takes about 12 ms of CPU.
async fn hash_passwords(state: &UsersState, tenant_id: i64, changes: &mut [Unhashed]) -> Result<()> {
    let mut with_passwords: Vec<(&mut UserChange, SecretString)> =
        changes.iter_mut().filter_map(|(change, password)| Some((change, password.take()?))).collect();
    if with_passwords.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = with_passwords.iter().map(|(change, _)| change.form.user_id.clone()).collect();
    let hashes_before = kept_hashes(state.store.reader(), tenant_id, &ids).await?;
    let secrets = with_passwords
        .iter()
        .map(|(change, password)| (password.clone(), hashes_before.get(&change.form.user_id).cloned()));
    let hashes = state.secret_checker.hash_all(tenant_id, secrets.collect()).await?;
    for ((change, _), hash) in with_passwords.iter_mut().zip(hashes) {
        change.password_hash = Written::Set(PasswordHash::new(hash));
    }
    Ok(())
}

async fn kept_hashes(reader: &Connection, tenant_id: i64, ids: &[String]) -> Result<HashMap<String, String>> {
    let text = "SELECT user_id, password_hash FROM users WHERE tenant_id = ? AND password_hash IS NOT NULL \
                AND user_id";
    let kept: Vec<(String, String)> = find_in(reader, text, &[tenant_id.into()], ids).await?;
    Ok(kept.into_iter().collect())
}
