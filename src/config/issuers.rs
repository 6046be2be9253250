//! External `OpenID` Connect issuers.

use std::collections::HashSet;

use jsonwebtoken::{Algorithm, AlgorithmFamily};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use trawl_connectors::AddressRules;
use url::Url;

use crate::identity::scopes::{Scopes, TokenScope};

/// `OpenID` Connect issuer of one tenant's user tokens.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerSettings {
    /// Exactly the tokens' `iss`; `.well-known/openid-configuration` below it names the keys.
    pub issuer: String,
    /// Required in the tokens' `aud`.
    pub audience: String,
    /// Code of the tenant.
    pub tenant: String,
    /// Claim that holds the user's `loginId`.
    #[serde(default = "preferred_username")]
    pub claim: String,
    /// Scopes of its users' tokens.
    pub scopes: Scopes,
    /// Accepted signature algorithms, all asymmetric.
    #[serde(default = "asymmetric")]
    pub algorithms: Vec<Algorithm>,
    /// Client registration for sign-in to the pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<SignInSettings>,
}

/// This server as a client of an issuer.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SignInSettings {
    /// Label of the sign-in button.
    pub name: String,
    /// Client id at the issuer.
    pub client_id: String,
    /// Client secret; none for a public client.
    #[serde(default, serialize_with = "super::masked", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretString>,
    /// Requested scopes: `openid` and those that yield the `claim`.
    #[serde(default = "profile")]
    pub scope: String,
}

fn profile() -> String {
    "openid profile".to_owned()
}

fn preferred_username() -> String {
    "preferred_username".to_owned()
}

fn asymmetric() -> Vec<Algorithm> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    vec![ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512]
}

pub(super) fn check(issuers: &[IssuerSettings], http_hosts: &[String], own: &str) -> Result<(), String> {
    if issuers.is_empty() {
        return Ok(());
    }
    let rules =
        AddressRules::new(http_hosts).map_err(|error| format!("connectors.allow_http_hosts: {error}"))?;
    let mut seen = HashSet::new();
    for issuer in issuers {
        issuer.check(&rules, own).map_err(|reason| format!("auth.issuers: {reason}"))?;
        if !seen.insert((&issuer.issuer, &issuer.audience)) {
            let IssuerSettings { issuer, audience, .. } = issuer;
            return Err(format!("auth.issuers: {issuer} is given twice for the audience {audience}"));
        }
    }
    Ok(())
}

impl IssuerSettings {
    fn check(&self, rules: &AddressRules, own: &str) -> Result<(), String> {
        let Self { issuer, audience, tenant, claim, scopes, algorithms, sign_in } = self;
        let url = Url::parse(issuer).map_err(|_| format!("issuer {issuer:?} is not an address"))?;
        rules.check_url(&url).map_err(|refusal| format!("issuer {issuer} {refusal}"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(format!("issuer {issuer} must have neither query nor fragment"));
        }
        if issuer.trim_end_matches('/') == own {
            return Err(format!("issuer {issuer} is this server itself"));
        }
        for (name, value) in [("audience", audience), ("tenant", tenant), ("claim", claim)] {
            if value.trim().is_empty() {
                return Err(format!("{name} of {issuer} must not be blank"));
            }
        }
        let forbidden = [TokenScope::ActAsUser, TokenScope::Tenants, TokenScope::Admin];
        if let Some(scope) = forbidden.into_iter().find(|scope| scopes.allow(*scope)) {
            return Err(format!("scopes of {issuer}: a user token never carries {scope}"));
        }
        if algorithms.is_empty()
            || algorithms.iter().any(|algorithm| algorithm.family() == AlgorithmFamily::Hmac)
        {
            return Err(format!("algorithms of {issuer} must be asymmetric ones, such as ES256 or RS256"));
        }
        sign_in.as_ref().map_or(Ok(()), |sign_in| sign_in.check(issuer))
    }
}

impl SignInSettings {
    fn check(&self, issuer: &str) -> Result<(), String> {
        for (name, value) in [("name", &self.name), ("client_id", &self.client_id)] {
            if value.trim().is_empty() {
                return Err(format!("sign_in.{name} of {issuer} must not be blank"));
            }
        }
        if self.scope.split(' ').any(|scope| scope == "openid") {
            Ok(())
        } else {
            Err(format!("sign_in.scope of {issuer} must include openid"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer(change: impl FnOnce(&mut serde_json::Value)) -> Result<(), String> {
        let mut value = serde_json::json!({
            "issuer": "https://login.example", "audience": "trawl", "tenant": "acme", "scopes": ["contents:read"],
        });
        change(&mut value);
        let issuer: IssuerSettings = serde_json::from_value(value).map_err(|error| error.to_string())?;
        check(&[issuer], &["127.0.0.1:5".to_owned()], "https://trawl.example")
    }

    #[test]
    fn untrustworthy_issuer_is_refused() {
        assert_eq!(issuer(|_| {}), Ok(()));
        assert_eq!(issuer(|value| value["issuer"] = "http://127.0.0.1:5".into()), Ok(()));
        let client = serde_json::json!({"name": "Staff", "client_id": "trawl"});
        assert_eq!(issuer(|value| value["sign_in"] = client.clone()), Ok(()));
        for (field, wrong) in [("name", " "), ("client_id", ""), ("scope", "profile")] {
            let mut client = client.clone();
            client[field] = wrong.into();
            let refusal = issuer(|value| value["sign_in"] = client).unwrap_err();
            assert!(refusal.contains(&format!("sign_in.{field}")), "{refusal}");
        }
        for (field, wrong, said) in [
            ("issuer", "http://login.example".into(), "must be https"),
            ("issuer", "https://169.254.169.254".into(), "link-local"),
            ("issuer", "https://login.example?x".into(), "neither query"),
            ("issuer", "https://trawl.example/".into(), "itself"),
            ("issuer", "login".into(), "not an address"),
            ("audience", " ".into(), "audience"),
            ("tenant", "".into(), "tenant"),
            ("scopes", serde_json::json!(["admin"]), "never carries admin"),
            ("scopes", serde_json::json!(["everything"]), "everything"),
            ("algorithms", serde_json::json!(["ES256", "HS256"]), "asymmetric"),
            ("algorithms", serde_json::json!([]), "asymmetric"),
            ("algorithms", serde_json::json!(["none"]), "none"),
        ] {
            let refusal = issuer(|value| value[field] = wrong.clone()).unwrap_err();
            assert!(refusal.contains(said), "{field} = {wrong}: {refusal}");
        }
    }
}
