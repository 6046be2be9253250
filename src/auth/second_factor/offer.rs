//! A secret that a code has to confirm, in the session that it was offered to.

use serde::{Deserialize, Serialize};

use super::{FactorOwner, MAX_WRONG_CODES, TotpSecret};
use crate::{
    auth::{keys::Keys, sessions::SessionId},
    error::{Error, Result},
};

/// An offered secret and its wrong codes, which count nowhere else.
#[derive(Serialize, Deserialize)]
pub(super) struct OfferedSecret {
    secret: Vec<u8>,
    wrong_codes: i64,
}

impl OfferedSecret {
    pub(super) fn new(secret: &TotpSecret) -> Self {
        Self { secret: secret.bytes().to_vec(), wrong_codes: 0 }
    }

    pub(super) fn secret(&self) -> Result<TotpSecret> {
        TotpSecret::from_bytes(&self.secret)
            .ok_or_else(|| Error::internal("an offered secret has the wrong length"))
    }

    /// The offer after a wrong code, unless that was the last one.
    pub(super) fn after_wrong_code(self) -> Option<Self> {
        let wrong_codes = self.wrong_codes + 1;
        (wrong_codes < MAX_WRONG_CODES).then_some(Self { wrong_codes, ..self })
    }

    pub(super) fn seal(&self, keys: &Keys, owner: &FactorOwner, session: SessionId) -> Result<Vec<u8>> {
        let plain = postcard::to_allocvec(self).map_err(Error::internal)?;
        keys.secrets.seal(context(owner, session).as_bytes(), &plain).map_err(Error::internal)
    }

    /// Opens an offer; none of another session opens.
    pub(super) fn open(keys: &Keys, owner: &FactorOwner, session: SessionId, sealed: &[u8]) -> Option<Self> {
        let plain = keys.secrets.open(context(owner, session).as_bytes(), sealed).ok()?;
        postcard::from_bytes(&plain).ok()
    }
}

/// Differs from the context of a secret that holds.
fn context(owner: &FactorOwner, session: SessionId) -> String {
    format!("offered {}\0{}", owner.context(), session.digits())
}
