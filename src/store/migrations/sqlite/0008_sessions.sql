-- Browsers that people signed in with.
CREATE TABLE sessions (
    -- The SHA-256 of what its cookie holds.
    id           BLOB    NOT NULL PRIMARY KEY,
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id      TEXT    NOT NULL,
    -- The person's epoch, and that of the application that he signed in by: a session of an earlier one is worthless.
    user_epoch   INTEGER NOT NULL,
    -- His login account then: under another one he is signed in no more, whoever has this one by now.
    login_id     TEXT    NOT NULL,
    client_id    TEXT    NOT NULL,
    client_epoch INTEGER NOT NULL,
    -- The id of the issuer that he signed in by; null where it was the login page.
    issuer       TEXT,
    created_at   INTEGER NOT NULL,
    -- Some half a minute behind; what was noted since is in memory.
    used_at      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_person ON sessions (tenant_id, user_id, used_at);
CREATE INDEX sessions_by_age ON sessions (created_at);
CREATE INDEX sessions_by_use ON sessions (used_at);
