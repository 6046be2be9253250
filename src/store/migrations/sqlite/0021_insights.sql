-- What people of a tenant look for, if it agreed: by week (UTC, from Monday) and keyword, without the people.
ALTER TABLE tenants ADD COLUMN search_insights INTEGER NOT NULL DEFAULT 0;

-- The salt of the hashes of people, NULL once the week is over.
CREATE TABLE insight_weeks (
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    week      INTEGER NOT NULL,
    salt      BLOB,
    PRIMARY KEY (tenant_id, week)
) WITHOUT ROWID;
CREATE INDEX insight_weeks_by_week ON insight_weeks (week);

-- `people` has a bit for each of 64 values of a salted hash.
CREATE TABLE insights (
    tenant_id       INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    week            INTEGER NOT NULL,
    keyword         TEXT NOT NULL,
    searches        INTEGER NOT NULL,
    without_results INTEGER NOT NULL,
    openings        INTEGER NOT NULL,
    people          INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, week, keyword)
) WITHOUT ROWID;
CREATE INDEX insights_by_week ON insights (week);
