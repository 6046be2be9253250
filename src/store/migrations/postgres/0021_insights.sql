-- What people of a tenant look for, if it agreed: by week (UTC, from Monday) and keyword, without the people.
ALTER TABLE tenants ADD COLUMN search_insights BOOLEAN NOT NULL DEFAULT FALSE;

-- The salt of the hashes of people, NULL once the week is over.
CREATE TABLE insight_weeks (
    tenant_id BIGINT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    week      BIGINT NOT NULL,
    salt      BYTEA,
    PRIMARY KEY (tenant_id, week)
);
CREATE INDEX insight_weeks_by_week ON insight_weeks (week);

-- `people` has a bit for each of 64 values of a salted hash.
CREATE TABLE insights (
    tenant_id       BIGINT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    week            BIGINT NOT NULL,
    keyword         TEXT NOT NULL,
    searches        BIGINT NOT NULL,
    without_results BIGINT NOT NULL,
    openings        BIGINT NOT NULL,
    people          BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, week, keyword)
);
CREATE INDEX insights_by_week ON insights (week);
