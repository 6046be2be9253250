use serde::Deserialize;

use crate::{
    auth::applications::{Kind, LoginClient, MAX_BOUND, MAX_REDIRECT_URIS, check_bound, check_scopes},
    error::{Error, Result},
    identity::scopes::{Scopes, TokenScope},
    json::BoundedList,
    platform::tenants::field_rules::{number, text},
};

const NAME_BYTES: usize = 256;
/// Of the few there are, which a list may name twice.
const MAX_SCOPES: usize = 100;
const OVERLAP_SECONDS: i64 = 86_400;
const MAX_OVERLAP_SECONDS: i64 = 2_592_000;

/// Application to register or change; a change keeps absent or null fields.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationForm {
    /// `application`, `domain` or `admin`; required for new ones, then fixed.
    #[schema(value_type = Option<Kind>)]
    pub kind: Option<String>,
    /// Display name.
    pub name: Option<String>,
    /// Tenants that a domain application may act on besides its own.
    pub bound: Option<BoundedList<String, { MAX_BOUND }>>,
    /// Scopes; default for new ones: all of the kind except `act-as-user`.
    pub scopes: Option<BoundedList<String, { MAX_SCOPES }>>,
    /// Whether its tokens are refused and invalid.
    pub disabled: Option<bool>,
    /// Login redirects: https, http on a loopback address, or a private scheme with a dot.
    pub redirect_uris: Option<BoundedList<String, { MAX_REDIRECT_URIS }>>,
    /// Whether it has no secret; fixed, only for kind `application` without `act-as-user`.
    pub public: Option<bool>,
}

/// Rotation of a secret.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RotationForm {
    /// Seconds that the previous secret stays valid, 0 to 2,592,000; default 86,400.
    pub overlap_seconds: Option<i64>,
}

impl RotationForm {
    pub(super) fn checked(&self) -> Result<i64> {
        let seconds = self.overlap_seconds.unwrap_or(OVERLAP_SECONDS);
        number("overlapSeconds", seconds, &(0..=MAX_OVERLAP_SECONDS))
    }
}

#[derive(Clone, Debug)]
pub(super) struct ValidatedApplication {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) bound: Vec<String>,
    pub(super) scopes: Scopes,
    pub(super) login: LoginClient,
    pub(super) is_disabled: bool,
}

impl ApplicationForm {
    pub(super) fn for_new(self) -> Result<ValidatedApplication> {
        let kind = self.kind.as_deref().and_then(|kind| kind.parse().ok());
        let kind: Kind = kind.ok_or_else(|| {
            Error::bad_request("kind: is required and must be application, domain or admin")
        })?;
        let blank = ValidatedApplication {
            kind,
            name: String::new(),
            bound: Vec::new(),
            scopes: kind.possible_scopes().without(TokenScope::ActAsUser),
            login: LoginClient { redirect_uris: Vec::new(), is_public: self.public == Some(true) },
            is_disabled: false,
        };
        let application = self.over(&blank)?;
        application.check()?;
        Ok(application)
    }

    pub(super) fn over(self, known: &ValidatedApplication) -> Result<ValidatedApplication> {
        if self.kind.is_some_and(|kind| kind != known.kind.as_str()) {
            return Err(Error::bad_request(format!("kind: cannot change; this one is {}", known.kind)));
        }
        if self.public.is_some_and(|public| public != known.login.is_public) {
            return Err(Error::bad_request("public: cannot change; register another application"));
        }
        let name = match self.name {
            None => known.name.clone(),
            name => text("name", name, NAME_BYTES, false)?.unwrap_or_default(),
        };
        let application = ValidatedApplication {
            kind: known.kind,
            name,
            bound: self.bound.map_or_else(|| known.bound.clone(), Into::into),
            scopes: self.scopes.map_or_else(|| Ok(known.scopes.clone()), |scopes| read_scopes(&scopes))?,
            login: LoginClient {
                redirect_uris: self
                    .redirect_uris
                    .map_or_else(|| known.login.redirect_uris.clone(), Into::into),
                is_public: known.login.is_public,
            },
            is_disabled: self.disabled.unwrap_or(known.is_disabled),
        };
        // Unchanged values stay unchecked, so that disabling and restricting always work.
        if application.bound != known.bound {
            check_bound("bound", application.kind, &application.bound)?;
        }
        if application.scopes != known.scopes {
            check_scopes("scopes", application.kind, &application.scopes)?;
        }
        if application.scopes != known.scopes {
            application
                .login
                .check_public(application.kind, &application.scopes)
                .map_err(Error::bad_request)?;
        }
        // The built-in pages redirect to the server itself, at any address.
        if application.login != known.login {
            application.login.check(application.kind, &application.scopes).map_err(Error::bad_request)?;
        }
        Ok(application)
    }
}

impl ValidatedApplication {
    fn check(&self) -> Result<()> {
        check_bound("bound", self.kind, &self.bound)?;
        check_scopes("scopes", self.kind, &self.scopes)?;
        self.login.check(self.kind, &self.scopes).map_err(Error::bad_request)
    }
}

fn read_scopes(names: &[String]) -> Result<Scopes> {
    let read = |(place, name): (usize, &String)| {
        name.parse::<TokenScope>().map_err(|reason| Error::bad_request(format!("scopes[{place}]: {reason}")))
    };
    names.iter().enumerate().map(read).collect()
}
