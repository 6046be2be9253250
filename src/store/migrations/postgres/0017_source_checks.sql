-- The last conformance check of a source with its present address, credentials and order.
CREATE TABLE source_checks (
    tenant_id  BIGINT  NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    source_id  TEXT    NOT NULL,
    checked_at BIGINT  NOT NULL,
    passed     BIGINT  NOT NULL,
    failed     BIGINT  NOT NULL,
    unknown    BIGINT  NOT NULL,
    PRIMARY KEY (tenant_id, source_id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES search_sources (tenant_id, id) ON DELETE CASCADE
);
