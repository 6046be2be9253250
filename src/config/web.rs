//! Pages for people: whose they are, how long one stays signed in, and who operates the server by them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::auth::tenants::check_code;

/// Pages for people.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// The code of the tenant that people sign in to; empty: the only one that there is, else the page asks.
    pub tenant: String,
    /// A browser that asks nothing for so many minutes is signed out.
    pub session_idle_minutes: u32,
    /// So many hours after the sign-in it is signed out in any case.
    pub session_hours: u32,
}

/// Who operates the server in a browser.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Console {
    /// People as `loginId@eCode`; what stands behind the last `@` is the tenant.
    pub operators: Vec<String>,
}

impl Default for Web {
    fn default() -> Self {
        Self { tenant: String::new(), session_idle_minutes: 480, session_hours: 168 }
    }
}

impl Web {
    /// How long a session lasts that is not used.
    pub fn session_idle(&self) -> Duration {
        Duration::from_mins(self.session_idle_minutes.into())
    }

    /// How long a session lasts at the most.
    pub fn session_life(&self) -> Duration {
        Duration::from_hours(self.session_hours.into())
    }

    /// # Errors
    /// A message for the operator that names the setting.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.tenant.is_empty() {
            check_code(&self.tenant).map_err(|reason| format!("web.tenant: {reason}"))?;
        }
        let spans =
            [("session_idle_minutes", self.session_idle_minutes), ("session_hours", self.session_hours)];
        match spans.into_iter().find(|(_, span)| *span == 0) {
            Some((name, _)) => Err(format!("web.{name} must be at least 1")),
            None => Ok(()),
        }
    }
}

impl Console {
    /// # Errors
    /// A message for the operator that names the setting.
    pub(super) fn check(&self) -> Result<(), String> {
        for operator in &self.operators {
            // A login may be a mail address; a code never holds the sign.
            let parts = operator.rsplit_once('@').filter(|(login_id, _)| !login_id.trim().is_empty());
            if parts.is_none_or(|(_, code)| check_code(code).is_err()) {
                return Err(format!("console.operators: {operator:?} is not loginId@eCode"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_setting_is_named() {
        assert_eq!(Web::default().check(), Ok(()));
        let wrong = |change: fn(&mut Web)| {
            let mut web = Web::default();
            change(&mut web);
            web.check().unwrap_err()
        };
        assert!(wrong(|web| web.session_idle_minutes = 0).contains("web.session_idle_minutes"));
        assert!(wrong(|web| web.session_hours = 0).contains("web.session_hours"));
        assert!(wrong(|web| web.tenant = "a/b".to_owned()).contains("web.tenant"));
    }

    #[test]
    fn an_operator_is_a_login_of_a_tenant() {
        let check = |operator: &str| Console { operators: vec![operator.to_owned()] }.check();
        for right in ["mei@acme", "mei@acme.example@acme"] {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        for wrong in ["", "mei", "@acme", "mei@", " @acme", "mei@ac me", "mei@acme/1"] {
            assert!(check(wrong).unwrap_err().contains("console.operators"), "{wrong}");
        }
    }
}
