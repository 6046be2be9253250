-- Replicas over one database.
ALTER TABLE change_log_end ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;

-- The last change of data that processes cache. Generations are given like positions of the change log.
CREATE TABLE invalidations (
    kind       TEXT NOT NULL,
    tenant_id  BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    PRIMARY KEY (kind, tenant_id)
);
CREATE INDEX invalidations_by_generation ON invalidations (generation);

CREATE TABLE replicas (
    id         TEXT NOT NULL PRIMARY KEY,
    process    TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    position   BIGINT NOT NULL,
    settings   TEXT NOT NULL
);

-- Work that one process does at a time. A lease ends with the process of its holder.
CREATE TABLE leases (
    name    TEXT NOT NULL PRIMARY KEY,
    process TEXT NOT NULL
);
