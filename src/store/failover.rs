//! Notices failovers and restores of PostgreSQL, which may have lost changes.
//!
//! It begins a new timeline then. Positions and generations that lost changes had are never given again.

use super::{Connection, Dialect, FromRow, Result, change_log, migrations::in_transaction, sql};

/// The timeline of a server that is no standby, as eight hexadecimal digits.
pub(super) const TIMELINE: &str = "left(pg_walfile_name(pg_current_wal_lsn()), 8)";

/// Positions and generations left out, more than a failover loses.
pub(super) const SKIPPED: i64 = 1 << 32;

#[derive(FromRow)]
struct Timelines {
    noted: i64,
    current: i64,
}

impl Connection {
    /// Skips positions and generations if PostgreSQL's timeline changed since the last write.
    ///
    /// Each new connection that writes looks.
    pub(super) async fn follow_timeline(&self) -> Result<()> {
        if self.dialect() == Dialect::Sqlite {
            return Ok(());
        }
        let Timelines { noted, current } = timelines(self).await?;
        if noted == current { Ok(()) } else { in_transaction(self, async || skip(self).await).await }
    }
}

async fn timelines(connection: &Connection) -> Result<Timelines> {
    let text = format!(
        "SELECT timeline AS noted, CAST(CAST(('x' || {TIMELINE}) AS BIT(32)) AS BIGINT) AS current FROM change_log_end"
    );
    sql(text, []).fetch_one(connection).await
}

async fn skip(connection: &Connection) -> Result<()> {
    // Another replica may have been first.
    let Timelines { noted, current } = timelines(connection).await?;
    if noted == current {
        return Ok(());
    }
    let skipped = if noted == 0 { 0 } else { SKIPPED };
    let text = "UPDATE change_log_end SET timeline = ?, position = position + ?, generation = generation + ? RETURNING position";
    let values = [current.into(), skipped.into(), skipped.into()];
    let position: i64 = sql(text, values).fetch_value(connection).await?;
    if skipped > 0 {
        tracing::warn!(
            "the database has failed over or was restored; changes that it lost are removed from indexes"
        );
        change_log::append_failover(connection, position, position - skipped).await?;
    }
    Ok(())
}
