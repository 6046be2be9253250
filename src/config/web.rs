//! Pages, sessions and operators.

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
    /// Whether operators who sign in by password need a second factor before the console opens.
    pub require_second_factor: bool,
}

impl Default for Web {
    fn default() -> Self {
        Self { tenant: String::new(), session_idle_minutes: 480, session_hours: 168 }
    }
}

impl Web {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.tenant.is_empty() {
            return Ok(());
        }
        check_code(&self.tenant).map_err(|reason| format!("web.tenant: {reason}"))
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
    fn wrong_tenant_is_named() {
        assert_eq!(Web::default().check(), Ok(()));
        let wrong = Web { tenant: "a/b".to_owned(), ..Web::default() };
        assert!(wrong.check().unwrap_err().contains("web.tenant"));
    }

    #[test]
    fn operator_is_a_login_and_a_tenant_code() {
        let check =
            |operator: &str| Console { operators: vec![operator.to_owned()], ..Console::default() }.check();
        for right in ["mei@acme", "mei@acme.example@acme"] {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        for wrong in ["", "mei", "@acme", "mei@", " @acme", "mei@ac me", "mei@acme/1"] {
            assert!(check(wrong).unwrap_err().contains("console.operators"), "{wrong}");
        }
    }
}
