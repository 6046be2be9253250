//! Principals: names of people, departments, groups and folders that decide visibility.
//!
//! (Book: explanation/visibility.md.)

/// Whether this principal may get rights: people, departments and groups.
pub fn may_be_given_rights(principal: &str) -> bool {
    ["u:", "d:", "g:"].iter().any(|prefix| principal.starts_with(prefix))
}

/// The principal of a person by synchronised id.
pub fn user_principal(user_id: &str) -> String {
    format!("u:{user_id}")
}

/// The principal of a login account, whoever holds it.
pub fn login_principal(login_id: &str) -> String {
    format!("l:{login_id}")
}

/// The principal of a department and all below it.
pub fn department_principal(org_id: &str) -> String {
    format!("d:{org_id}")
}

/// The principal of a group's members.
pub fn group_principal(group_id: &str) -> String {
    format!("g:{group_id}")
}

/// The enterprise as a subject of folders.
pub const ENTERPRISE: &str = "e";

/// The principal of a subject's owners, [`ENTERPRISE`] included.
pub fn owner_principal(subject: &str) -> String {
    format!("o:{subject}")
}

/// The principal of holders of a right on a folder.
pub fn directory_principal(directory_id: &str) -> String {
    format!("f:{directory_id}")
}
