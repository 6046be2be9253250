-- Authorization codes by their SHA-256, used ones with the id of their token: a reuse revokes it.
CREATE TABLE authorization_codes (
    code_digest      BYTEA NOT NULL PRIMARY KEY,
    tenant_id        BIGINT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    granted          TEXT NOT NULL,
    issued_at        BIGINT NOT NULL,
    jti              TEXT,
    token_expires_at BIGINT
);
CREATE INDEX authorization_codes_by_age ON authorization_codes (issued_at);
CREATE INDEX authorization_codes_by_tenant ON authorization_codes (tenant_id);
