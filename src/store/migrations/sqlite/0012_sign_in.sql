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

-- Logins and guesses by the SHA-256 of their account: `in flight`, `failed`, or `succeeded` in a network, each until its
-- time. Over SQLite, the server's memory holds them.
CREATE TABLE login_attempts (
    id      BLOB NOT NULL PRIMARY KEY,
    account BLOB NOT NULL,
    state   TEXT NOT NULL,
    ends_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX login_attempts_by_account ON login_attempts (account, ends_at);
CREATE INDEX login_attempts_by_end ON login_attempts (ends_at);
