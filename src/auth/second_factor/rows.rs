//! Rows of second factors.

use super::FactorOwner;
use crate::store::{self, Connection, FromRow, Json, Transaction, Value, sql};

#[derive(Default, FromRow)]
pub(super) struct FactorRow {
    /// The secret that holds.
    pub(super) sealed_secret: Option<Vec<u8>>,
    /// The secret that a code has to confirm, sealed for its session.
    pub(super) sealed_offer: Option<Vec<u8>>,
    pub(super) confirmed_at: Option<i64>,
    pub(super) last_step: i64,
    pub(super) wrong_codes: i64,
    pub(super) recovery_hashes: Json<Vec<String>>,
}

pub(super) async fn find(connection: &Connection, owner: &FactorOwner) -> store::Result<Option<FactorRow>> {
    sql(
        "SELECT sealed_secret, sealed_offer, confirmed_at, last_step, wrong_codes, recovery_hashes \
         FROM second_factors WHERE tenant_id = ? AND user_id = ?",
        owner.values(),
    )
    .fetch_optional(connection)
    .await
}

pub(super) async fn put(transaction: &Transaction, owner: &FactorOwner, row: FactorRow) -> store::Result<()> {
    let [tenant_id, user_id] = owner.values();
    let statement = sql(
        "INSERT INTO second_factors (tenant_id, user_id, sealed_secret, sealed_offer, confirmed_at, last_step, \
           wrong_codes, recovery_hashes) VALUES (?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (tenant_id, user_id) DO UPDATE SET sealed_secret = excluded.sealed_secret, \
           sealed_offer = excluded.sealed_offer, confirmed_at = excluded.confirmed_at, last_step = excluded.last_step, \
           wrong_codes = excluded.wrong_codes, recovery_hashes = excluded.recovery_hashes",
        [
            tenant_id,
            user_id,
            row.sealed_secret.into(),
            row.sealed_offer.into(),
            row.confirmed_at.into(),
            row.last_step.into(),
            row.wrong_codes.into(),
            Value::json(&row.recovery_hashes)?,
        ],
    );
    statement.execute(transaction).await.map(drop)
}

pub(super) async fn remove(transaction: &Transaction, owner: &FactorOwner) -> store::Result<()> {
    let text = "DELETE FROM second_factors WHERE tenant_id = ? AND user_id = ?";
    sql(text, owner.values()).execute(transaction).await.map(drop)
}
