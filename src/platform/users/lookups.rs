//! Lookups of people for other areas.

pub use super::{
    repo::{
        accounts::{PersonAccount, find_person_account, list_accounts, raise_epoch},
        find_account, find_ids_by_logins, find_names, find_person, find_shown,
        pages::find_avatar,
    },
    rules::{NamedBy, ShownPerson},
};
