-- Authorization codes by their SHA-256, used ones with the id of their token: a reuse revokes it.
CREATE TABLE authorization_codes (
    code_digest      BLOB NOT NULL PRIMARY KEY,
    tenant_id        INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    granted          TEXT NOT NULL,
    issued_at        INTEGER NOT NULL,
    jti              TEXT,
    token_expires_at INTEGER
) WITHOUT ROWID;
CREATE INDEX authorization_codes_by_age ON authorization_codes (issued_at);
CREATE INDEX authorization_codes_by_tenant ON authorization_codes (tenant_id);
