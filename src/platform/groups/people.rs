use std::collections::{BTreeMap, HashMap};

use super::forms::named;
use crate::{
    auth::tenants::Tenant,
    error::{Error, Result},
    platform::{
        tenants,
        users::lookups::{NamedBy, ShownPerson, find_shown},
    },
    store::Transaction,
};

#[derive(Clone, Debug)]
pub(super) struct NamedPerson {
    pub(super) tenant_id: i64,
    pub(super) user_id: String,
    /// Ids of other tenants are never disclosed.
    pub(super) given: String,
}

impl NamedPerson {
    pub(super) fn known(tenant_id: i64, user_id: &str) -> Self {
        Self { tenant_id, user_id: user_id.to_owned(), given: user_id.to_owned() }
    }

    pub(super) fn key(&self) -> (i64, &str) {
        (self.tenant_id, &self.user_id)
    }
}

/// 404 names unknown ids.
pub(super) async fn by_ids(
    transaction: &Transaction,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<NamedPerson>> {
    let found = find_shown(transaction, tenant_id, NamedBy::UserId, ids).await?;
    let found: HashMap<String, ShownPerson> =
        found.into_iter().map(|person| (person.user_id.clone(), person)).collect();
    let unknown: Vec<&String> = ids.iter().filter(|id| !found.contains_key(*id)).collect();
    if !unknown.is_empty() {
        return Err(Error::not_found(format!("userIds: there are no such users: {}", named(&unknown))));
    }
    Ok(found.into_keys().map(|user_id| NamedPerson::known(tenant_id, &user_id)).collect())
}

/// Finds people by login, in the own tenant first.
///
/// A login may hold `@`, which also separates the code of another tenant. Fails with 404 naming unknown or
/// disallowed logins.
pub(super) async fn by_logins(
    transaction: &Transaction,
    tenant: &Tenant,
    logins: &[String],
) -> Result<Vec<NamedPerson>> {
    let own = find_shown(transaction, tenant.id, NamedBy::LoginId, logins).await?;
    let mut people: HashMap<&str, NamedPerson> = HashMap::new();
    let by_login: HashMap<&str, &ShownPerson> =
        own.iter().map(|person| (person.login_id.as_str(), person)).collect();
    for login in logins {
        if let Some(person) = by_login.get(login.as_str()) {
            let user_id = person.user_id.clone();
            people.insert(login, NamedPerson { tenant_id: tenant.id, user_id, given: login.clone() });
        }
    }
    let elsewhere: Vec<&String> =
        logins.iter().filter(|login| !people.contains_key(login.as_str())).collect();
    let elsewhere = by_code(&elsewhere);
    let codes: Vec<&str> = elsewhere.keys().copied().collect();
    let open = tenants::service::open_to_outer_groups(transaction, &codes).await?;
    for (code, of_code) in elsewhere {
        let Some(tenant_id) = open.get(code).copied().filter(|id| *id != tenant.id) else { continue };
        let names: Vec<&str> = of_code.iter().map(|(_, login)| *login).collect();
        let found = find_shown(transaction, tenant_id, NamedBy::LoginId, &names).await?;
        for person in found {
            let given = of_code.iter().filter(|(_, login)| *login == person.login_id);
            for (given, _) in given {
                let user_id = person.user_id.clone();
                people.insert(given, NamedPerson { tenant_id, user_id, given: (*given).to_owned() });
            }
        }
    }
    let unknown: Vec<&String> = logins.iter().filter(|login| !people.contains_key(login.as_str())).collect();
    if !unknown.is_empty() {
        return Err(Error::not_found(format!("loginIds: there are no such accounts: {}", named(&unknown))));
    }
    Ok(people.into_values().collect())
}

pub(super) fn by_code<'a>(given: &[&'a String]) -> BTreeMap<&'a str, Vec<(&'a str, &'a str)>> {
    let mut logins: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for given in given {
        if let Some((login, code)) = given.rsplit_once('@') {
            logins.entry(code).or_default().push((given, login));
        }
    }
    logins
}
