//! Who else says who people are: external `OpenID` Connect issuers, and the proxies that say where requests come from.

use std::{collections::HashSet, net::IpAddr};

use ipnet::IpNet;
use jsonwebtoken::{Algorithm, AlgorithmFamily};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use trawl_connectors::AddressRules;
use url::Url;

use crate::auth::scopes::{Scope, Scopes};

/// An `OpenID` Connect issuer whose tokens are user tokens of one tenant (decisions 3.4 c).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// Its identifier, letter for letter as its tokens name it in `iss`; `.well-known/openid-configuration` below it says
    /// where its keys are.
    pub issuer: String,
    /// What its tokens must name in `aud`.
    pub audience: String,
    /// The code of the tenant whose people they are of.
    pub tenant: String,
    /// The claim that holds the person's `loginId`.
    #[serde(default = "preferred_username")]
    pub claim: String,
    /// What these people's tokens allow.
    pub scopes: Scopes,
    /// By which algorithms its tokens may be signed; asymmetric ones alone.
    #[serde(default = "asymmetric")]
    pub algorithms: Vec<Algorithm>,
    /// How its people sign in to the pages by it, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<SignIn>,
}

/// What this server is to an issuer by which people sign in to the pages.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// What people call the issuer.
    pub name: String,
    /// As which client this server is registered there.
    pub client_id: String,
    /// Its secret, where it has one.
    #[serde(default, serialize_with = "super::masked", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretString>,
    /// What it asks for, `openid` among it, separated by spaces; the ID token has to say the entry's `claim`.
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

/// # Errors
/// A message for the operator that names the setting.
pub(super) fn check(issuers: &[Issuer], http_hosts: &[String], own: &str) -> Result<(), String> {
    if issuers.is_empty() {
        return Ok(());
    }
    let rules =
        AddressRules::new(http_hosts).map_err(|error| format!("connectors.allow_http_hosts: {error}"))?;
    let mut seen = HashSet::new();
    for issuer in issuers {
        issuer.check(&rules, own).map_err(|reason| format!("auth.issuers: {reason}"))?;
        if !seen.insert((&issuer.issuer, &issuer.audience)) {
            let Issuer { issuer, audience, .. } = issuer;
            return Err(format!("auth.issuers: {issuer} stands there twice for the audience {audience}"));
        }
    }
    Ok(())
}

impl Issuer {
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
        let forbidden = [Scope::ActAsUser, Scope::Tenants, Scope::Admin];
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

impl SignIn {
    fn check(&self, issuer: &str) -> Result<(), String> {
        for (name, value) in [("name", &self.name), ("client_id", &self.client_id)] {
            if value.trim().is_empty() {
                return Err(format!("sign_in.{name} of {issuer} must not be blank"));
            }
        }
        if self.scope.split(' ').any(|scope| scope == "openid") {
            Ok(())
        } else {
            Err(format!("sign_in.scope of {issuer} must hold openid"))
        }
    }
}

/// Networks, or single addresses, which are networks of one.
pub(super) fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let network = |text: String| {
        text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).map_err(|_| {
            D::Error::custom(format!("{text:?} is neither an address nor a network such as 10.0.0.0/8"))
        })
    };
    texts.into_iter().map(network).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer(change: impl FnOnce(&mut serde_json::Value)) -> Result<(), String> {
        let mut value = serde_json::json!({
            "issuer": "https://login.example", "audience": "trawl", "tenant": "acme", "scopes": ["contents:read"],
        });
        change(&mut value);
        let issuer: Issuer = serde_json::from_value(value).map_err(|error| error.to_string())?;
        check(&[issuer], &["127.0.0.1:5".to_owned()], "https://trawl.example")
    }

    #[test]
    fn an_issuer_has_to_be_one_that_can_be_trusted() {
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

    #[test]
    fn a_proxy_is_an_address_or_a_network() {
        let read = |text: &str| networks(&mut serde_json::Deserializer::from_str(text));
        let both = read(r#"["10.0.0.0/8", "::1"]"#).unwrap();
        assert_eq!(both.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.0.0.0/8", "::1/128"]);
        assert!(read(r#"["proxy.example"]"#).unwrap_err().to_string().contains("proxy.example"));
    }
}
