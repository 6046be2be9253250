-- Replicas over one database; SQLite has one process and leaves these tables empty.
ALTER TABLE change_log_end ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

-- The last change of data that processes cache. Generations are given like positions of the change log.
CREATE TABLE invalidations (
    kind       TEXT NOT NULL,
    tenant_id  INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (kind, tenant_id)
) WITHOUT ROWID;
CREATE INDEX invalidations_by_generation ON invalidations (generation);

CREATE TABLE replicas (
    id         TEXT NOT NULL PRIMARY KEY,
    process    TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    settings   TEXT NOT NULL
) WITHOUT ROWID;

-- Work that one process does at a time. A lease ends with the process of its holder.
CREATE TABLE leases (
    name    TEXT NOT NULL PRIMARY KEY,
    process TEXT NOT NULL
) WITHOUT ROWID;
