//! Tenants.

/// An enterprise: a number inside, a code outside.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Tenant {
    /// Number; never reused.
    pub id: i64,
    /// The eCode.
    pub code: String,
    /// Enterprise name.
    pub name: String,
    /// Whether its calls and calls on it are refused.
    pub is_frozen: bool,
    /// `isAllowManage`: other domain applications may act on it.
    pub allow_manage: bool,
    /// The registering application's client id; `None` for the command line.
    pub registered_by: Option<String>,
    /// Whether finished searches of its people are counted.
    pub search_insights: bool,
}

/// Checks a tenant code: 1 to 64 letters, digits, `-`, `_` or `.`.
pub fn check_code(code: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&code.len()) && code.chars().all(allowed) {
        Ok(())
    } else {
        Err(format!("{code:?} is not a tenant code: 1 to 64 letters, digits, '-', '_' or '.'"))
    }
}
