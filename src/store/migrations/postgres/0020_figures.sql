-- Searches of a module or source that began in the hours from a time on: counts by status, and a histogram of latencies.
CREATE TABLE figures (
    tenant_id  BIGINT  NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    hours      BIGINT  NOT NULL CHECK (hours IN (1, 24)),
    at         BIGINT  NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('module', 'source')),
    subject_id TEXT    NOT NULL,
    counts     BYTEA   NOT NULL,
    PRIMARY KEY (tenant_id, hours, at, kind, subject_id)
);
CREATE INDEX figures_by_age ON figures (hours, at);
