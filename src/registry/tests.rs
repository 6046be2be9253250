//! Sealed secrets, and the validation of rows.

use std::sync::LazyLock;

use secrecy::{ExposeSecret, SecretString};
use trawl_connectors::{AddressRules, InterpreterPool};

use super::{
    repo::sources::SourceRow,
    validated_settings::{keep_sealed, open, seal, validate},
    *,
};
use crate::auth::keys::CannotOpen;

static KEYS: LazyLock<Keys> =
    LazyLock::new(|| Keys::load(None, tempfile::tempdir().unwrap().path()).unwrap());

fn row() -> SourceRow {
    SourceRow {
        id: "crm".to_owned(),
        name: "Customers".to_owned(),
        url: "https://crm.example/search".to_owned(),
        method: "GET".to_owned(),
        auth_type: "OAUTH2_CLIENT".to_owned(),
        token_url: Some("https://login.example/token".to_owned()),
        client_id: Some("trawl".to_owned()),
        client_secret_sealed: Some(seal(&KEYS.secrets, 1, "crm", &"hush".into()).unwrap()),
        result_order: "time".to_owned(),
        timeout_ms: 1_000,
        page_size: 20,
        max_concurrency: 8,
        enabled: true,
        weight: 1_000,
        ..SourceRow::default()
    }
}

fn policy() -> SourcePolicy {
    SourcePolicy {
        addresses: AddressRules::default(),
        auth_none: false,
        max_body_bytes: 1_024,
        interpreters: InterpreterPool::new("/nowhere".into()),
        assertions: None,
    }
}

#[test]
fn secret_opens_for_its_source_alone() {
    let sealed = seal(&KEYS.secrets, 1, "crm", &"hush".into()).unwrap();
    assert_eq!(open(&KEYS.secrets, 1, "crm", &sealed).unwrap().expose_secret(), "hush");
    assert!(open(&KEYS.secrets, 2, "crm", &sealed).is_err(), "it opens for another tenant");
    assert!(open(&KEYS.secrets, 1, "erp", &sealed).is_err(), "it opens for another source");
}

#[test]
fn oldest_secret_opens_and_is_sealed_anew_when_kept() {
    let oldest = KEYS.secrets.seal(b"crm", b"hush").unwrap();
    assert_eq!(open(&KEYS.secrets, 1, "crm", &oldest).unwrap().expose_secret(), "hush");
    let stored = SourceRow { client_secret_sealed: Some(oldest.clone()), ..row() };
    let kept = keep_sealed(&KEYS.secrets, 1, "auth.clientSecret", stored).unwrap();
    assert!(open(&KEYS.secrets, 2, "crm", &kept).is_err());
    assert_eq!(open(&KEYS.secrets, 1, "crm", &kept).unwrap().expose_secret(), "hush");
    let again = SourceRow { client_secret_sealed: Some(kept.clone()), ..row() };
    assert_eq!(
        keep_sealed(&KEYS.secrets, 1, "auth.clientSecret", again).unwrap(),
        kept,
        "a bound secret stays as it is"
    );
    let lost = SourceRow { client_secret_sealed: Some(b"of another master key".to_vec()), ..row() };
    assert!(
        keep_sealed(&KEYS.secrets, 1, "auth.clientSecret", lost)
            .unwrap_err()
            .message
            .starts_with("auth.clientSecret: ")
    );
}

#[test]
fn first_invalid_field_of_a_row_is_named() {
    let read = |row: &SourceRow, secret: Result<SecretString, CannotOpen>| {
        validate(1, row, &policy(), || secret).map_err(|invalid| invalid.to_string()).err()
    };
    assert_eq!(read(&row(), Ok("hush".into())), None);
    for (changed, field) in [
        (SourceRow { auth_type: "API_KEY".to_owned(), ..row() }, "auth.header: "),
        (SourceRow { token_url: None, ..row() }, "auth.tokenUrl: "),
        (SourceRow { token_url: Some("https://127.0.0.1/".to_owned()), ..row() }, "auth.tokenUrl: leads to"),
        (SourceRow { client_id: None, ..row() }, "auth.clientId: "),
        (SourceRow { timeout_ms: -1, ..row() }, "timeoutMs: "),
        (SourceRow { page_size: 0, ..row() }, "pageSize: "),
        (SourceRow { max_concurrency: 0, ..row() }, "maxConcurrency: "),
    ] {
        let reason = read(&changed, Ok("hush".into())).unwrap_or_else(|| panic!("{field} is valid"));
        assert!(reason.starts_with(field), "{reason}");
    }
    let reason = read(&row(), Err(CannotOpen)).unwrap();
    assert!(reason.starts_with("auth.clientSecret: cannot be opened"), "{reason}");
}

#[test]
fn debug_output_of_a_form_hides_the_secret() {
    let form =
        br#"{"name": "x", "auth": {"type": "OAUTH2_CLIENT", "clientId": "trawl", "clientSecret": "hush",
                         "key": "hush", "password": "hush", "token": "hush"}}"#;
    let form: SourceForm = crate::json::read_object(form).unwrap();
    let shown = format!("{form:?}");
    assert!(shown.contains("trawl") && !shown.contains("hush"), "{shown}");
}
