//! Accounts that attempts count for.

use std::net::IpAddr;

use aws_lc_rs::digest::{SHA256, digest};

use super::network;
use crate::identity::logins;

/// The digest of an account that attempts count for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThrottledAccount(pub(super) [u8; 32]);

impl ThrottledAccount {
    /// A login account, existing or not, whatever its case.
    pub fn login(tenant_id: i64, login_id: &str) -> Self {
        Self::of(&format!("login\0{tenant_id}\0{}", logins::fold(login_id)))
    }

    /// A login account in browsers that it is known to use.
    #[must_use]
    pub fn in_known_browsers(self) -> Self {
        Self::of(&[b"known-browsers\0", self.0.as_slice()].concat())
    }

    /// The digest.
    pub fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// An application, existing or not.
    pub fn client(client_id: &str) -> Self {
        Self::of(&format!("client\0{client_id}"))
    }

    /// A person who tries join codes of groups.
    pub fn join_codes_of(tenant_id: i64, user_id: &str) -> Self {
        Self::of(&format!("join-codes\0{tenant_id}\0{user_id}"))
    }

    /// A person who changes their second factor: a stolen session guesses here, and blocks no sign-in.
    pub fn factor_changes_of(tenant_id: i64, user_id: &str) -> Self {
        Self::of(&format!("factor-changes\0{tenant_id}\0{user_id}"))
    }

    /// A person who signs in with codes of their second factor.
    pub fn second_factor_of(tenant_id: i64, user_id: &str) -> Self {
        Self::of(&format!("second-factor\0{tenant_id}\0{user_id}"))
    }

    pub(super) fn clients_at(address: IpAddr) -> Self {
        Self::of(&format!("clients-at\0{}", network(address)))
    }

    /// All issuer sign-ins at an address.
    pub fn sign_ins_at(address: IpAddr) -> Self {
        Self::of(&format!("sign-ins-at\0{}", network(address)))
    }

    fn of(named: &(impl AsRef<[u8]> + ?Sized)) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, named.as_ref()).as_ref());
        Self(hash)
    }
}
