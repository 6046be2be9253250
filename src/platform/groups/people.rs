//! Who is meant by the ids and logins that a caller gives: people whom their tenant sees, and nobody else.

use std::collections::{BTreeMap, HashMap};

use super::fields::named;
use crate::{
    auth::tenants::Tenant,
    error::{Error, Result},
    platform::{
        tenants,
        users::model::{NamedBy, ShownPerson, find_shown},
    },
    store::Transaction,
};

/// Somebody of some tenant.
#[derive(Clone, Debug)]
pub(super) struct Person {
    pub(super) tenant_id: i64,
    /// The id on the synchronising side.
    pub(super) user_id: String,
    /// As he was named by the one who is answered: an id of another tenant is told to nobody.
    pub(super) given: String,
}

impl Person {
    /// Somebody whom the one who is answered knows by his id.
    pub(super) fn known(tenant_id: i64, user_id: &str) -> Self {
        Self { tenant_id, user_id: user_id.to_owned(), given: user_id.to_owned() }
    }

    /// Who it is, however he was named.
    pub(super) fn key(&self) -> (i64, &str) {
        (self.tenant_id, &self.user_id)
    }
}

/// People of the tenant, by their ids.
///
/// # Errors
/// 404 that names those whom nobody knows.
pub(super) async fn by_ids(transaction: &Transaction, tenant_id: i64, ids: &[String]) -> Result<Vec<Person>> {
    let found = find_shown(&**transaction, tenant_id, NamedBy::UserId, ids).await?;
    let found: HashMap<String, ShownPerson> =
        found.into_iter().map(|person| (person.user_id.clone(), person)).collect();
    let unknown: Vec<&String> = ids.iter().filter(|id| !found.contains_key(*id)).collect();
    if !unknown.is_empty() {
        return Err(Error::not_found(format!("userIds: there are no such users: {}", named(&unknown))));
    }
    Ok(found.into_keys().map(|user_id| Person::known(tenant_id, &user_id)).collect())
}

/// People by their logins: those of the tenant, and `login@eCode` of tenants that allow it (decisions 9.4). A login may itself
/// hold an `@`, so it is one of the tenant's own first.
///
/// # Errors
/// 404 that names those whom nobody knows, or nobody may.
pub(super) async fn by_logins(
    transaction: &Transaction,
    tenant: &Tenant,
    logins: &[String],
) -> Result<Vec<Person>> {
    let own = find_shown(&**transaction, tenant.id, NamedBy::LoginId, logins).await?;
    let mut people: HashMap<&str, Person> = HashMap::new();
    let by_login: HashMap<&str, &ShownPerson> =
        own.iter().map(|person| (person.login_id.as_str(), person)).collect();
    for login in logins {
        if let Some(person) = by_login.get(login.as_str()) {
            let user_id = person.user_id.clone();
            people.insert(login, Person { tenant_id: tenant.id, user_id, given: login.clone() });
        }
    }
    let elsewhere: Vec<&String> =
        logins.iter().filter(|login| !people.contains_key(login.as_str())).collect();
    let elsewhere = by_code(&elsewhere);
    let codes: Vec<&str> = elsewhere.keys().copied().collect();
    let open = tenants::model::open_to_outer_groups(&**transaction, &codes).await?;
    for (code, of_code) in elsewhere {
        let Some(tenant_id) = open.get(code).copied().filter(|id| *id != tenant.id) else { continue };
        let names: Vec<&str> = of_code.iter().map(|(_, login)| *login).collect();
        let found = find_shown(&**transaction, tenant_id, NamedBy::LoginId, &names).await?;
        for person in found {
            let given = of_code.iter().filter(|(_, login)| *login == person.login_id);
            for (given, _) in given {
                let user_id = person.user_id.clone();
                people.insert(given, Person { tenant_id, user_id, given: (*given).to_owned() });
            }
        }
    }
    let unknown: Vec<&String> = logins.iter().filter(|login| !people.contains_key(login.as_str())).collect();
    if !unknown.is_empty() {
        return Err(Error::not_found(format!("loginIds: there are no such accounts: {}", named(&unknown))));
    }
    Ok(people.into_values().collect())
}

/// Logins of other tenants by the codes of these, each as it was given and as it is there.
pub(super) fn by_code<'a>(given: &[&'a String]) -> BTreeMap<&'a str, Vec<(&'a str, &'a str)>> {
    let mut logins: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for given in given {
        if let Some((login, code)) = given.rsplit_once('@') {
            logins.entry(code).or_default().push((given, login));
        }
    }
    logins
}
