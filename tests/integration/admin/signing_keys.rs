//! Signing keys and token verification.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode, jwk::JwkSet,
};
use serde_json::{Value, json};

use crate::util::{app::TestApp, caller::send, internals::Claims};

const PATH: &str = "/admin/v1/signing_keys";

async fn published(app: &TestApp) -> JwkSet {
    let answer = app.caller("").get("/oauth2/jwks").await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, "public, max-age=300"));
    serde_json::from_value(answer.body).unwrap()
}

fn kid(token: &str) -> String {
    decode_header(token).unwrap().kid.unwrap()
}

fn read(token: &str, keys: &JwkSet) -> Claims {
    let key = keys.find(&kid(token)).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    validation.validate_aud = false;
    decode(token, &DecodingKey::from_jwk(key).unwrap(), &validation).unwrap().claims
}

#[tokio::test]
async fn metadata_names_every_endpoint() {
    let app = TestApp::start().await;
    let metadata = app.caller("").get("/.well-known/oauth-authorization-server").await;
    assert_eq!((metadata.status, metadata.header("cache-control")), (200, "public, max-age=300"));
    let body = &metadata.body;
    assert_eq!(body["issuer"], app.base);
    for (field, path) in [
        ("authorization_endpoint", "/oauth2/authorize"),
        ("token_endpoint", "/oauth2/token"),
        ("revocation_endpoint", "/oauth2/revoke"),
        ("jwks_uri", "/oauth2/jwks"),
    ] {
        assert_eq!(body[field], format!("{}{path}", app.base), "{field}");
    }
    assert_eq!(body["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(body["response_types_supported"], json!(["code"]));
    assert_eq!(body["authorization_response_iss_parameter_supported"], true);
    let methods = json!(["client_secret_basic", "client_secret_post", "none"]);
    assert_eq!(body["token_endpoint_auth_methods_supported"], methods);
    assert_eq!(body["scopes_supported"].as_array().unwrap().len(), 10);
    let grants = body["grant_types_supported"].as_array().unwrap();
    assert!(grants.contains(&json!("client_credentials")) && grants.contains(&json!("authorization_code")));
}

#[tokio::test]
async fn tokens_are_verifiable_by_the_published_keys() {
    let app = TestApp::start_with(|config| {
        config.public_url = Some("https://search.example.org/trawl/".parse().unwrap());
    })
    .await;
    let acme = app.tenant("acme").await;
    let keys = published(&app).await;
    assert_eq!(keys.keys.len(), 1);
    let key = serde_json::to_value(&keys.keys[0]).unwrap();
    for (field, value) in [("kty", "EC"), ("crv", "P-256"), ("use", "sig"), ("alg", "ES256")] {
        assert_eq!(key[field], value, "{key}");
    }
    assert!(key.get("d").is_none(), "the private key is published");
    let claims = read(&acme.caller.token, &keys);
    assert_eq!(claims.iss, "https://search.example.org/trawl");
    assert_eq!(claims.aud, format!("urn:trawl:{}", app.app.store.id()));
    assert_eq!((claims.sub.as_str(), claims.client_id.as_str()), (&*acme.client_id, &*acme.client_id));
}

#[tokio::test]
async fn retired_key_verifies_until_its_tokens_expire() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await;
    let first = kid(&acme.caller.token);
    let created = operator.caller.post_empty(PATH).await.ok().body["data"].clone();
    assert_eq!((&created["alg"], &created["retiredAt"]), (&json!("ES256"), &Value::Null));
    let second = created["kid"].as_str().unwrap().to_owned();
    assert_ne!(first, second);

    let token_of = async |app: &TestApp| {
        let answer = app.grant(&acme, &[("grant_type", "client_credentials")]).await;
        answer.body["access_token"].as_str().unwrap().to_owned()
    };
    let newer = token_of(&app).await;
    assert_eq!(kid(&newer), second);
    let keys = published(&app).await;
    for token in [&acme.caller.token, &newer] {
        read(token, &keys);
        app.caller(token).post_empty("/modules").await.ok();
    }
    let list = operator.caller.get(PATH).await.ok();
    let kids: Vec<&str> = list.items().iter().map(|key| key["kid"].as_str().unwrap()).collect();
    assert_eq!(kids, [second.as_str(), first.as_str()]);
    let (retired, until) = (list.items()[1]["retiredAt"].as_i64(), list.items()[1]["verifiesUntil"].as_i64());
    assert!(until.unwrap() >= retired.unwrap() + 3_600_000, "{}", list.text);
    assert!(!list.text.contains("sealed"), "{}", list.text);

    let tokens = [acme.caller.token.clone(), newer, operator.caller.token.clone()];
    drop(operator);
    let app = app.restart().await;
    for token in &tokens {
        app.caller(token).post_empty("/modules").await.ok();
    }
    assert_eq!(published(&app).await.keys.len(), 2);
    drop(acme);

    app.execute("UPDATE signing_keys SET verifies_until = 1 WHERE retired_at IS NOT NULL").await;
    let app = app.restart().await;
    app.app.maintenance.make_round().await.unwrap();
    let keys = published(&app).await;
    assert_eq!(keys.keys.len(), 1);
    assert!(keys.find(&second).is_some());
    app.caller(&tokens[0]).post_empty("/modules").await.fails(401, "the token is not valid");
    app.caller(&tokens[1]).post_empty("/modules").await.ok();
    let list = app.caller(&tokens[2]).get(PATH).await;
    list.fails(401, "the token is not valid");
}

#[tokio::test]
async fn signing_keys_are_limited() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller;
    for _ in 1..20 {
        operator.post_empty(PATH).await.ok();
    }
    operator.post_empty(PATH).await.fails(409, "20 signing keys");
    assert_eq!(published(&app).await.keys.len(), 20);
    acme.caller.post_empty("/modules").await.ok();
}

async fn signed(app: &TestApp, key: &str, header: &Header, claims: &Value) -> String {
    let text = "SELECT key_sealed FROM signing_keys WHERE id = ?";
    let (sealed,): (Vec<u8>,) = app.row(text, vec![key.into()]).await;
    let key = app.app.keys.secrets.open(key.as_bytes(), &sealed).unwrap();
    encode(header, claims, &EncodingKey::from_ec_der(&key)).unwrap()
}

/// The server never signs such tokens itself.
#[tokio::test]
async fn valid_signature_with_invalid_claims_is_refused() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await.caller;
    let first = kid(&acme.caller.token);
    let claims = serde_json::to_value(read(&acme.caller.token, &published(&app).await)).unwrap();
    let second = operator.post_empty(PATH).await.ok().body["data"]["kid"].as_str().unwrap().to_owned();
    let header = |typ: &str, kid: &str| {
        let mut header = Header::new(Algorithm::ES256);
        (header.typ, header.kid) = (Some(typ.to_owned()), Some(kid.to_owned()));
        header
    };
    let with = |field: &str, value: Value| {
        let mut claims = claims.clone();
        claims[field] = value;
        claims
    };
    // Tokens outlive a change of the issuer URL.
    let of_another_issuer = with("iss", json!("https://was.example"));
    let good = signed(&app, &first, &header("at+jwt", &first), &of_another_issuer).await;
    app.caller(&good).post_empty("/modules").await.ok();

    // Clocks of replicas differ a little.
    let later = claims["iat"].as_u64().unwrap() + 600;
    let ahead = signed(&app, &first, &header("at+jwt", &first), &with("iat", json!(later - 590))).await;
    app.caller(&ahead).post_empty("/modules").await.ok();

    let wrong = [
        (header("JWT", &first), claims.clone()),
        (header("at+jwt", &second), claims.clone()),
        (header("at+jwt", &first), with("aud", json!("urn:trawl:another"))),
        (header("at+jwt", &first), with("aud", Value::Null)),
        (header("at+jwt", &first), with("exp", json!(1))),
        (header("at+jwt", &first), with("client_id", json!("nobody"))),
        (header("at+jwt", &first), with("tenant", json!(999))),
        (header("at+jwt", &first), with("epoch", json!(5))),
        (header("at+jwt", &first), with("iat", json!(later))),
        (header("at+jwt", &first), with("iat", json!(u64::MAX))),
        (header("at+jwt", &first), with("nbf", json!(later))),
    ];
    for (header, claims) in wrong {
        let token = signed(&app, &first, &header, &claims).await;
        let answer = app.caller(&token).post_empty("/modules").await;
        assert_eq!(answer.status, 401, "{header:?} {claims}: {}", answer.text);
    }
    let other = app.tenant("other").await;
    let stolen = with("tenant", json!(other.tenant_id));
    let token = signed(&app, &first, &header("at+jwt", &first), &stolen).await;
    assert_eq!(app.caller(&token).post_empty("/modules").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_rotation_under_load_refuses_no_token() {
    let (app, acme) = TestApp::start_acme_with(|config| config.auth.secret_checks_at_once = 4).await;
    let operator = app.operator().await.caller;
    let calling = async {
        for _ in 0..10 {
            let answer = app.grant(&acme, &[("grant_type", "client_credentials")]).await;
            let token = answer.body["access_token"].as_str().unwrap();
            app.caller(token).post_empty("/modules").await.ok();
        }
    };
    let rotating = async {
        for _ in 0..10 {
            operator.post_empty(PATH).await.ok();
        }
    };
    tokio::join!(calling, rotating);
}

fn with_part(token: &str, place: usize, text: &str) -> String {
    let mut parts: Vec<&str> = token.split('.').collect();
    parts[place] = text;
    parts.join(".")
}

fn encoded(value: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test]
async fn altered_token_is_401() {
    let (app, acme) = TestApp::start_with_acme().await;
    let operator = app.operator().await;
    let basic = app.http.get(format!("{}/admin/v1/modules", app.base)).basic_auth("a", Some("b"));
    send(basic).await.fails(401, "Bearer");
    let token = &acme.caller.token;
    let keys = published(&app).await;
    let (id, claims) = (kid(token), read(token, &keys));
    let head = |alg: &str, typ: &str, kid: &str| encoded(&json!({"alg": alg, "typ": typ, "kid": kid}));

    // Algorithm confusion: HMAC with the public key as the secret.
    let public = serde_json::to_value(keys.find(&id).unwrap()).unwrap();
    let mut point = vec![4];
    for coordinate in ["x", "y"] {
        point.extend(BASE64_URL_SAFE_NO_PAD.decode(public[coordinate].as_str().unwrap()).unwrap());
    }
    let mut header = Header::new(Algorithm::HS256);
    (header.typ, header.kid) = (Some("at+jwt".to_owned()), Some(id.clone()));
    let symmetric = encode(&header, &claims, &EncodingKey::from_secret(&point)).unwrap();

    let mut richer = claims.clone();
    richer.scope = "admin".to_owned();
    let richer = encoded(&serde_json::to_value(&richer).unwrap());
    let unsigned = format!("{}.{}.", head("none", "at+jwt", &id), token.split('.').nth(1).unwrap());
    let wrong = [
        ("nothing", String::new()),
        ("no token", "a.b.c".to_owned()),
        ("another text", "garbage".to_owned()),
        ("alg none", unsigned),
        ("HS256", symmetric),
        ("another payload", with_part(token, 1, &richer)),
        ("no signature", with_part(token, 2, "")),
        ("another kid", with_part(token, 0, &head("ES256", "at+jwt", "unknown"))),
        ("no kid", with_part(token, 0, &encoded(&json!({"alg": "ES256", "typ": "at+jwt"})))),
        ("another typ", with_part(token, 0, &head("ES256", "JWT", &id))),
        ("another's signature", with_part(token, 2, operator.caller.token.split('.').nth(2).unwrap())),
    ];
    for (what, token) in wrong {
        let answer = app.caller(&token).post_empty("/modules").await;
        assert_eq!(answer.status, 401, "{what}: {}", answer.text);
        answer.fails(401, "token");
    }
    acme.caller.post_empty("/modules").await.ok();
}
