//! An authenticator app, and the second factor that it is for.

use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};

use super::{
    app::TestApp,
    caller::Caller,
    internals::{TotpSecret, epoch_seconds},
};

pub(crate) const FACTOR: &str = "/session/second_factor";

pub(crate) struct AuthenticatorApp(TotpSecret);

impl AuthenticatorApp {
    pub(crate) fn of(secret: &str) -> Self {
        Self(TotpSecret::from_bytes(&BASE32_NOPAD.decode(secret.as_bytes()).unwrap()).unwrap())
    }

    /// The code of the present step, or of one before or after it.
    pub(crate) fn code(&self, later: i64) -> String {
        self.0.code(i64::try_from(epoch_seconds()).unwrap() / 30 + later)
    }

    /// A code that is wrong for hours.
    pub(crate) fn wrong_code(&self) -> String {
        let near: Vec<String> = (-500..500).map(|later| self.code(later)).collect();
        (0..1_000_000).map(|number| format!("{number:06}")).find(|code| !near.contains(code)).unwrap()
    }
}

/// Sets up a second factor; returns its app and recovery codes.
pub(crate) async fn enrol(session: &Caller) -> (AuthenticatorApp, Vec<String>) {
    let offered = session.post(FACTOR, &json!({"password": "correct horse"})).await.ok();
    let app = AuthenticatorApp::of(offered.data()["secret"].as_str().unwrap());
    let confirmed = session.post(&format!("{FACTOR}/confirm"), &json!({"code": app.code(0)})).await.ok();
    let codes = confirmed.data()["recoveryCodes"].as_array().unwrap().iter();
    (app, codes.map(|code| code.as_str().unwrap().to_owned()).collect())
}

pub(crate) async fn state(session: &Caller) -> Value {
    session.get(FACTOR).await.ok().data().clone()
}

impl TestApp {
    /// Lets time pass, so that the codes of now are good again.
    pub(crate) async fn forget_used_codes(&self) {
        self.execute("UPDATE second_factors SET last_step = 0").await;
    }
}
