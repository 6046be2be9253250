//! Form of how a source learns who searches.

use serde::{Deserialize, Deserializer, Serialize};
use trawl_connectors::{AssertionClaims, AssertionSubject, DEFAULT_ASSERTION_HEADER};

use super::{CREDENTIAL_BYTES, URL_BYTES};
use crate::{
    error::{Error, Result},
    registry::forms::optional,
};

/// How a source learns for whom it is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IdentityForm {
    /// `assertion`: a signed JWT in a header. `token`: a token of the person, by `auth`. `variable`: `$person` in the
    /// mapping. Required.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The header of the assertion; `X-Trawl-Assertion` if absent. `Authorization` holds it as a bearer token.
    pub header: Option<String>,
    /// `sub` of the assertion: `userId` (the default) or `loginId`.
    pub subject: Option<String>,
    /// `aud` of the assertion; if absent, the origin of `url`, or `auth.tokenUrl` for the token endpoint.
    pub audience: Option<String>,
    /// Whether the assertion tells the person's departments; false if absent.
    pub departments: Option<bool>,
}

/// The type alone, or an object.
pub(super) fn identity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IdentityForm>, D::Error> {
    match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::String(kind) => {
            Ok(Some(IdentityForm { kind: Some(kind), ..IdentityForm::default() }))
        }
        object @ serde_json::Value::Object(_) => {
            serde_json::from_value(object).map(Some).map_err(serde::de::Error::custom)
        }
        _ => Err(serde::de::Error::custom("must be a type, such as assertion, or an object")),
    }
}

impl IdentityForm {
    const ASSERTION: &str = "assertion";
    const TOKEN: &str = "token";
    const VARIABLE: &str = "variable";
    const USER_ID: &str = "userId";
    const LOGIN_ID: &str = "loginId";

    /// The identity that a source needs whose form names none.
    pub(super) fn implied(grants_people: bool, uses_person: bool) -> Option<Self> {
        let kind = match (grants_people, uses_person) {
            (true, _) => Self::TOKEN,
            (false, true) => Self::VARIABLE,
            (false, false) => return None,
        };
        Some(Self { kind: Some(kind.to_owned()), ..Self::default() })
    }

    /// Checks the form and fills in its defaults.
    pub(super) fn checked(self, grants_people: bool, uses_person: bool) -> Result<Self> {
        let kind = self.kind.unwrap_or_default();
        let header = optional("identity.header", self.header, CREDENTIAL_BYTES)?;
        let header = match kind.as_str() {
            Self::ASSERTION => Some(header.unwrap_or_else(|| DEFAULT_ASSERTION_HEADER.to_owned())),
            Self::TOKEN if !grants_people => {
                return Err(Error::bad_request(
                    "identity.type: token needs auth.type OAUTH2_JWT_BEARER or OAUTH2_TOKEN_EXCHANGE",
                ));
            }
            Self::VARIABLE if !uses_person => {
                return Err(Error::bad_request("identity.type: variable needs a mapping that names $person"));
            }
            Self::TOKEN | Self::VARIABLE if header.is_some() => {
                return Err(Error::bad_request("identity.header: is for the type assertion only"));
            }
            Self::TOKEN | Self::VARIABLE => None,
            _ => return Err(Error::bad_request("identity.type: must be assertion, token or variable")),
        };
        let subject = self.subject.unwrap_or_else(|| Self::USER_ID.to_owned());
        if subject != Self::USER_ID && subject != Self::LOGIN_ID {
            return Err(Error::bad_request("identity.subject: must be userId or loginId"));
        }
        Ok(Self {
            kind: Some(kind),
            header,
            subject: Some(subject),
            audience: optional("identity.audience", self.audience, URL_BYTES)?,
            departments: Some(self.departments.unwrap_or(false)),
        })
    }

    /// The claims of its assertions.
    pub(in crate::registry) fn claims(&self) -> AssertionClaims {
        let is_login = self.subject.as_deref() == Some(Self::LOGIN_ID);
        AssertionClaims {
            subject: if is_login { AssertionSubject::LoginId } else { AssertionSubject::UserId },
            audience: self.audience.clone(),
            departments: self.departments.unwrap_or(false),
        }
    }
}
