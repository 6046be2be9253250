-- The last conformance check of a source with its present address, credentials and order.
CREATE TABLE source_checks (
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    source_id  TEXT    NOT NULL,
    checked_at INTEGER NOT NULL,
    passed     INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    unknown    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, source_id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES search_sources (tenant_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
