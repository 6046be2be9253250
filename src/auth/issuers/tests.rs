//! Valid and forged tokens of issuers.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::{
    FutureExt,
    future::{join_all, ready},
};
use jsonwebtoken::{EncodingKey, encode, jwk::Jwk};
use serde_json::json;

use super::*;
use crate::{auth::tokens::epoch_seconds, error::ErrorKind, identity::scopes::TokenScope};

const ISSUER: &str = "https://login.example";

struct Pair {
    id: &'static str,
    signing: EncodingKey,
}

impl Pair {
    fn new(id: &'static str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { id, signing: EncodingKey::from_ec_der(pair.to_pkcs8v1().unwrap().as_ref()) }
    }

    fn public(&self) -> Value {
        let mut jwk = Jwk::from_encoding_key(&self.signing, Algorithm::ES256).unwrap();
        jwk.common.key_id = Some(self.id.to_owned());
        serde_json::to_value(jwk).unwrap()
    }

    fn sign(&self, change: impl FnOnce(&mut Header, &mut Value)) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.id.to_owned());
        let mut claims = good_claims();
        change(&mut header, &mut claims);
        encode(&header, &claims, &self.signing).unwrap()
    }
}

fn good_claims() -> Value {
    json!({
        "iss": ISSUER, "aud": "trawl", "sub": "1234", "exp": epoch_seconds() + 600, "preferred_username": "mei",
    })
}

#[derive(Default)]
struct Site {
    keys: Mutex<Value>,
    asked: AtomicUsize,
}

impl Site {
    fn with(keys: &[Value]) -> Arc<Self> {
        let site = Arc::new(Self::default());
        site.publish(keys);
        site
    }

    fn publish(&self, keys: &[Value]) {
        *self.keys.lock().unwrap() = json!({"keys": keys});
    }

    fn answer(&self, place: &str) -> std::result::Result<Vec<u8>, String> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let keys = self.keys.lock().unwrap().clone();
        Ok(match place {
            "https://login.example/.well-known/openid-configuration" => {
                json!({"issuer": ISSUER, "jwks_uri": "https://keys.example/jwks"})
            }
            "https://keys.example/jwks" => keys,
            other => return Err(format!("there is no {other}")),
        }
        .to_string()
        .into_bytes())
    }

    fn issuers(self: &Arc<Self>, audiences: &[&str]) -> Issuers {
        let trust = |audience: &&str| config::IssuerSettings {
            issuer: ISSUER.to_owned(),
            audience: (*audience).to_owned(),
            tenant: format!("tenant-of-{audience}"),
            claim: "preferred_username".to_owned(),
            scopes: [TokenScope::ContentsRead].into_iter().collect(),
            algorithms: vec![Algorithm::ES256, Algorithm::RS256],
            sign_in: None,
        };
        let settings: Vec<_> = audiences.iter().map(trust).collect();
        Issuers::with_documents(&settings, || {
            let site = Arc::clone(self);
            Box::new(move |url| ready(site.answer(url.as_str())).boxed())
        })
    }
}

async fn ask(issuers: &Issuers, token: &str) -> std::result::Result<(String, String), (ErrorKind, String)> {
    let issuer = issuers.of(token).expect("it is of another issuer");
    let identity = issuer.verify(token).await.map_err(|error| (error.kind, error.message))?;
    Ok((identity.login_id, identity.trust.tenant.clone()))
}

async fn is_refused(issuers: &Issuers, token: &str) {
    let (kind, message) = ask(issuers, token).await.unwrap_err();
    assert_eq!(kind, ErrorKind::Unauthorized, "{message}");
}

#[tokio::test]
async fn a_good_token_names_a_person_of_its_audience_s_tenant() {
    let pair = Pair::new("one");
    let site = Site::with(&[pair.public()]);
    let issuers = site.issuers(&["trawl", "portal"]);
    let mei = |audience: &str| Ok(("mei".to_owned(), format!("tenant-of-{audience}")));
    assert_eq!(ask(&issuers, &pair.sign(|_, _| {})).await, mei("trawl"));
    let several = pair.sign(|header, claims| {
        header.typ = Some("at+jwt".to_owned());
        claims["aud"] = json!(["elsewhere", "portal"]);
    });
    assert_eq!(ask(&issuers, &several).await, mei("portal"));
    assert_eq!(site.asked.load(Ordering::Relaxed), 2, "the keys are fetched once");
    assert!(issuers.of(&pair.sign(|_, claims| claims["iss"] = "https://other.example".into())).is_none());
    assert!(issuers.of("no token").is_none());
}

#[tokio::test]
async fn invalid_token_is_refused() {
    let pair = Pair::new("one");
    let site = Site::with(&[pair.public()]);
    let issuers = site.issuers(&["trawl"]);
    let now = epoch_seconds();
    for (name, wrong) in [
        ("aud", json!("portal")),
        ("aud", json!(["portal", "TRAWL"])),
        ("aud", json!(null)),
        ("exp", json!(now - 31)),
        ("exp", json!(null)),
        ("exp", json!("tomorrow")),
        ("nbf", json!(now + 60)),
        ("iat", json!(now + 60)),
        ("iat", json!(u64::MAX)),
        ("iat", json!("2000-01-01")),
        ("preferred_username", json!(null)),
        ("preferred_username", json!("")),
        ("preferred_username", json!(["mei"])),
    ] {
        is_refused(&issuers, &pair.sign(|_, claims| claims[name] = wrong.clone())).await;
    }
    for missing in ["aud", "exp", "preferred_username"] {
        is_refused(
            &issuers,
            &pair.sign(|_, claims| {
                claims.as_object_mut().unwrap().remove(missing);
            }),
        )
        .await;
    }
    let expired = ask(&issuers, &pair.sign(|_, claims| claims["exp"] = (now - 100).into())).await;
    assert!(expired.unwrap_err().1.contains("expired"));
    let early = pair.sign(|_, claims| claims["nbf"] = (now + 10).into());
    assert!(ask(&issuers, &early).await.is_ok());
}

#[tokio::test]
async fn invalid_header_is_refused() {
    let pair = Pair::new("one");
    let site = Site::with(&[pair.public()]);
    let issuers = site.issuers(&["trawl"]);
    for kind in ["logout+jwt", "secevent+jwt", "dpop+jwt", "x"] {
        is_refused(&issuers, &pair.sign(|header, _| header.typ = Some(kind.to_owned()))).await;
    }
    is_refused(&issuers, &pair.sign(|header, _| header.crit = Some(vec!["b64".to_owned()]))).await;
    is_refused(&issuers, &pair.sign(|header, _| header.kid = None)).await;
    for id in ["", "../../../../dev/null", "/etc/passwd", "one\0", "' OR 1=1 --", "http://127.0.0.1/", "ONE"]
    {
        is_refused(&issuers, &pair.sign(|header, _| header.kid = Some(id.to_owned()))).await;
    }
    is_refused(&issuers, &pair.sign(|header, _| header.kid = Some("x".repeat(5_000)))).await;
}

#[tokio::test]
async fn a_key_that_comes_along_with_the_token_is_not_looked_at() {
    let (pair, attacker) = (Pair::new("one"), Pair::new("one"));
    let site = Site::with(&[pair.public()]);
    let issuers = site.issuers(&["trawl"]);
    is_refused(&issuers, &attacker.sign(|_, _| {})).await;
    let embedded = serde_json::from_value::<Jwk>(attacker.public()).unwrap();
    is_refused(&issuers, &attacker.sign(|header, _| header.jwk = Some(embedded))).await;
    let elsewhere = Some("https://attacker.example/jwks".to_owned());
    is_refused(&issuers, &attacker.sign(|header, _| header.jku = elsewhere)).await;
}

#[tokio::test]
async fn an_algorithm_that_is_none_or_another_is_refused() {
    let pair = Pair::new("one");
    let site = Site::with(&[pair.public()]);
    let issuers = site.issuers(&["trawl"]);
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    for algorithm in ["none", "None", "NONE", ""] {
        let header = part(&json!({"alg": algorithm, "kid": "one", "typ": "JWT"}));
        let claims = part(&good_claims());
        for signature in ["", "AAAA"] {
            is_refused(&issuers, &format!("{header}.{claims}.{signature}")).await;
        }
    }
    // The public key used as a shared secret.
    let public = pair.public();
    let bytes = |name: &str| BASE64_URL_SAFE_NO_PAD.decode(public[name].as_str().unwrap()).unwrap();
    let point = [vec![4], bytes("x"), bytes("y")].concat();
    for secret in [point, public.to_string().into_bytes(), Vec::new()] {
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let mut header = Header::new(algorithm);
            header.kid = Some("one".to_owned());
            let token = encode(&header, &good_claims(), &EncodingKey::from_secret(&secret)).unwrap();
            is_refused(&issuers, &token).await;
        }
    }
    let token = pair.sign(|_, _| {});
    let (_, rest) = token.split_once('.').unwrap();
    for algorithm in ["ES384", "RS256", "EdDSA"] {
        let header = part(&json!({"alg": algorithm, "kid": "one", "typ": "JWT"}));
        is_refused(&issuers, &format!("{header}.{rest}")).await;
    }
}

#[tokio::test]
async fn keys_for_something_else_verify_nothing() {
    let pair = Pair::new("one");
    for (name, other) in [("use", json!("enc")), ("alg", json!("ES384")), ("kid", json!(null))] {
        let mut key = pair.public();
        key[name] = other;
        let site = Site::with(&[key, Pair::new("two").public()]);
        is_refused(&site.issuers(&["trawl"]), &pair.sign(|_, _| {})).await;
    }
    // A published shared secret is ignored; the other keys stay.
    let secret =
        json!({"kty": "oct", "kid": "two", "k": BASE64_URL_SAFE_NO_PAD.encode("secret"), "alg": "HS256"});
    let site = Site::with(&[secret, json!({"kty": "new"}), json!(5), pair.public()]);
    let issuers = site.issuers(&["trawl"]);
    assert!(ask(&issuers, &pair.sign(|_, _| {})).await.is_ok());
    is_refused(&issuers, &pair.sign(|header, _| header.kid = Some("two".to_owned()))).await;
}

#[tokio::test]
async fn changed_keys_are_fetched_and_removed_keys_verify_nothing() {
    let (old, new) = (Pair::new("old"), Pair::new("new"));
    let site = Site::with(&[old.public()]);
    let issuers = site.issuers(&["trawl"]);
    assert!(ask(&issuers, &old.sign(|_, _| {})).await.is_ok());
    site.publish(&[old.public(), new.public()]);
    assert!(ask(&issuers, &new.sign(|_, _| {})).await.is_ok());
    assert!(ask(&issuers, &old.sign(|_, _| {})).await.is_ok());
    assert_eq!(site.asked.load(Ordering::Relaxed), 4);
    site.publish(&[new.public()]);
    is_refused(&issuers, &new.sign(|header, _| header.kid = Some("newer".to_owned()))).await;
    is_refused(&issuers, &old.sign(|_, _| {})).await;
}

#[tokio::test]
async fn unknown_key_ids_do_not_raise_the_fetch_rate() {
    let pair = Pair::new("one");
    let site = Site::with(&[pair.public()]);
    let issuers = site.issuers(&["trawl"]);
    for number in 0..100 {
        is_refused(&issuers, &pair.sign(|header, _| header.kid = Some(number.to_string()))).await;
    }
    let asked = site.asked.load(Ordering::Relaxed);
    assert!((10..20).contains(&asked), "{asked}");
    assert!(ask(&issuers, &pair.sign(|_, _| {})).await.is_ok());

    let site = Site::with(&[pair.public()]);
    let issuers = site.issuers(&["trawl"]);
    let token = pair.sign(|_, _| {});
    let outcomes = join_all((0..50).map(|_| ask(&issuers, &token))).await;
    assert!(outcomes.iter().all(std::result::Result::is_ok));
    assert_eq!(site.asked.load(Ordering::Relaxed), 2, "they share one fetch");
}

#[tokio::test]
async fn a_description_of_another_issuer_is_not_believed() {
    let pair = Pair::new("one");
    let site = Site::with(&[pair.public()]);
    let trust = |issuer: &str| config::IssuerSettings {
        issuer: issuer.to_owned(),
        ..site.issuers(&["trawl"]).by_name[ISSUER].trusts[0].clone()
    };
    let other = "https://other.example";
    let answering = Arc::clone(&site);
    let issuers = Issuers::with_documents(&[trust(other)], || {
        let site = Arc::clone(&answering);
        Box::new(move |url| ready(site.answer(&url.as_str().replace("other", "login"))).boxed())
    });
    let token = pair.sign(|_, claims| claims["iss"] = other.into());
    assert_eq!(ask(&issuers, &token).await.unwrap_err().0, ErrorKind::Unavailable);
}
