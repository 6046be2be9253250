-- Searches of a module or source that began in the hours from a time on: counts by status, and a histogram of latencies.
CREATE TABLE figures (
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    hours      INTEGER NOT NULL CHECK (hours IN (1, 24)),
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('module', 'source')),
    subject_id TEXT    NOT NULL,
    counts     BLOB    NOT NULL,
    PRIMARY KEY (tenant_id, hours, at, kind, subject_id)
) WITHOUT ROWID;
CREATE INDEX figures_by_age ON figures (hours, at);
