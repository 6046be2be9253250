//! Pages, sessions and operators.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::identity::tenant::check_code;

/// Pages and sessions.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Code of the tenant to sign in to; empty: the only one, or the page asks.
    pub tenant: String,
    /// Time without a request until a session ends.
    pub session_idle_minutes: u32,
    /// Hours after which any session ends.
    pub session_hours: u32,
}

/// Operators who use the console.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Console {
    /// People as `loginId@eCode`; the tenant follows the last `@`.
    pub operators: Vec<String>,
}

impl Default for Web {
    fn default() -> Self {
        Self { tenant: String::new(), session_idle_minutes: 480, session_hours: 168 }
    }
}

impl Web {
    /// Time until an idle session ends.
    pub fn session_idle(&self) -> Duration {
        Duration::from_mins(self.session_idle_minutes.into())
    }

    /// Longest lifetime of a session.
    pub fn session_life(&self) -> Duration {
        Duration::from_hours(self.session_hours.into())
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !self.tenant.is_empty() {
            check_code(&self.tenant).map_err(|reason| format!("web.tenant: {reason}"))?;
        }
        let spans =
            [("session_idle_minutes", self.session_idle_minutes), ("session_hours", self.session_hours)];
        match spans.into_iter().find(|(_, span)| *span == 0) {
            Some((name, _)) => Err(format!("web.{name}: must be at least 1")),
            None => Ok(()),
        }
    }
}

impl Console {
    pub(super) fn check(&self) -> Result<(), String> {
        for operator in &self.operators {
            // A login may be a mail address; a tenant code never holds `@`.
            let parts = operator.rsplit_once('@').filter(|(login_id, _)| !login_id.trim().is_empty());
            if parts.is_none_or(|(_, code)| check_code(code).is_err()) {
                return Err(format!("console.operators: must be loginId@eCode, not {operator:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_setting_is_named() {
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
    fn operator_is_a_login_and_a_tenant_code() {
        let check = |operator: &str| Console { operators: vec![operator.to_owned()] }.check();
        for right in ["mei@acme", "mei@acme.example@acme"] {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        for wrong in ["", "mei", "@acme", "mei@", " @acme", "mei@ac me", "mei@acme/1"] {
            assert!(check(wrong).unwrap_err().contains("console.operators"), "{wrong}");
        }
    }
}
