//! Rows of insights.

use crate::store::{Connection, FromRow, Result, Transaction, Value, sql};

/// The counts of a keyword in a week.
#[derive(Clone, Debug, FromRow)]
pub(super) struct KeywordRow {
    pub(super) keyword: String,
    pub(super) searches: i64,
    pub(super) without_results: i64,
    pub(super) openings: i64,
    pub(super) people: i64,
}

/// Keywords of a tenant and week.
const MAX_KEYWORDS: u64 = 10_000;

const PORTION: i64 = 1_000;

pub(super) async fn is_enabled(connection: &Connection, tenant_id: i64) -> Result<bool> {
    let statement =
        sql("SELECT search_insights FROM tenants WHERE id = ? AND removed_at IS NULL", [tenant_id.into()]);
    Ok(statement.fetch_optional_value::<bool>(connection).await?.unwrap_or_default())
}

/// The salt of a week, `new` at first; `None` after its end.
pub(super) async fn salt(
    transaction: &Transaction,
    tenant_id: i64,
    week: i64,
    new: [u8; 16],
) -> Result<Option<Vec<u8>>> {
    let insert = sql(
        "INSERT INTO insight_weeks (tenant_id, week, salt) VALUES (?, ?, ?) ON CONFLICT (tenant_id, week) DO NOTHING",
        [tenant_id.into(), week.into(), new.as_slice().into()],
    );
    insert.execute(transaction).await?;
    let find = sql(
        "SELECT salt FROM insight_weeks WHERE tenant_id = ? AND week = ?",
        [tenant_id.into(), week.into()],
    );
    find.fetch_value(transaction).await
}

/// Adds to a keyword's counts.
///
/// A new keyword is left out once the week has the most.
pub(super) async fn add(
    transaction: &Transaction,
    tenant_id: i64,
    week: i64,
    added: KeywordRow,
) -> Result<()> {
    let KeywordRow { keyword, searches, without_results, openings, people } = added;
    let update = sql(
        "UPDATE insights SET searches = searches + ?, without_results = without_results + ?, openings = openings + ?, \
           people = people | ? WHERE tenant_id = ? AND week = ? AND keyword = ?",
        [
            searches.into(),
            without_results.into(),
            openings.into(),
            people.into(),
            tenant_id.into(),
            week.into(),
            (&keyword).into(),
        ],
    );
    if update.execute(transaction).await? > 0 {
        return Ok(());
    }
    let known = sql(
        "SELECT COUNT(*) FROM insights WHERE tenant_id = ? AND week = ?",
        [tenant_id.into(), week.into()],
    );
    if known.count(transaction).await? >= MAX_KEYWORDS {
        return Ok(());
    }
    let insert = sql(
        "INSERT INTO insights (tenant_id, week, keyword, searches, without_results, openings, people) \
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            tenant_id.into(),
            week.into(),
            keyword.into(),
            searches.into(),
            without_results.into(),
            openings.into(),
            people.into(),
        ],
    );
    insert.execute(transaction).await.map(drop)
}

/// Keywords from a week on that at least `least` searches looked for.
pub(super) async fn list(
    connection: &Connection,
    tenant_id: i64,
    from: i64,
    least: i64,
) -> Result<Vec<KeywordRow>> {
    let statement = sql(
        "SELECT keyword, searches, without_results, openings, people FROM insights \
         WHERE tenant_id = ? AND week >= ? AND searches >= ?",
        [tenant_id.into(), from.into(), least.into()],
    );
    statement.fetch_all(connection).await
}

pub(super) async fn remove_all(transaction: &Transaction, tenant_id: i64) -> Result<()> {
    for table in ["insights", "insight_weeks"] {
        let text = format!("DELETE FROM {table} WHERE tenant_id = ?");
        sql(text, [tenant_id.into()]).execute(transaction).await?;
    }
    Ok(())
}

/// Whether there are salts from before `this_week`, or rows from before `first_week`.
pub(super) async fn has_old(connection: &Connection, this_week: i64, first_week: i64) -> Result<bool> {
    let statement = sql(
        "SELECT 1 FROM insight_weeks WHERE week < ? AND salt IS NOT NULL \
         UNION ALL SELECT 1 FROM insight_weeks WHERE week < ? UNION ALL SELECT 1 FROM insights WHERE week < ?",
        [this_week.into(), first_week.into(), first_week.into()],
    );
    statement.exists(connection).await
}

/// Removes salts before `this_week`, and a portion of rows before `first_week`.
///
/// Returns whether none is left.
pub(super) async fn remove_old(transaction: &Transaction, this_week: i64, first_week: i64) -> Result<bool> {
    let salts =
        sql("UPDATE insight_weeks SET salt = NULL WHERE week < ? AND salt IS NOT NULL", [this_week.into()]);
    salts.execute(transaction).await?;
    sql("DELETE FROM insight_weeks WHERE week < ?", [first_week.into()]).execute(transaction).await?;
    let rows = sql(
        "DELETE FROM insights WHERE (tenant_id, week, keyword) IN \
           (SELECT tenant_id, week, keyword FROM insights WHERE week < ? LIMIT ?)",
        [first_week.into(), Value::from(PORTION)],
    );
    let removed = rows.execute(transaction).await?;
    Ok(i64::try_from(removed).unwrap_or(PORTION) < PORTION)
}
