-- What an enterprise tells of itself, as it was registered; and what an operator settles for it (decisions 3.6, 9.8).
ALTER TABLE tenants ADD COLUMN profile             TEXT    NOT NULL DEFAULT '{}';
ALTER TABLE tenants ADD COLUMN is_frozen           INTEGER NOT NULL DEFAULT 0;
-- Whether domain applications other than the one that registered it may act on it.
ALTER TABLE tenants ADD COLUMN allow_manage        INTEGER NOT NULL DEFAULT 1;
ALTER TABLE tenants ADD COLUMN registered_by       TEXT;
ALTER TABLE tenants ADD COLUMN login_suffix        TEXT;
ALTER TABLE tenants ADD COLUMN allow_outer_members INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN quota_bytes         INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN subject_quota_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN label_limit         INTEGER NOT NULL DEFAULT 10;
-- Since when it is gone; its rows are then removed in portions, and its code is free.
ALTER TABLE tenants ADD COLUMN removed_at          INTEGER;
CREATE INDEX removed_tenants ON tenants (removed_at) WHERE removed_at IS NOT NULL;
-- The last time of change that a row of its directory was given (decisions 9.6).
ALTER TABLE tenants ADD COLUMN last_change         INTEGER NOT NULL DEFAULT 0;

ALTER TABLE applications ADD COLUMN is_disabled           INTEGER NOT NULL DEFAULT 0;
-- Tokens carry the epoch that they were issued in; those of an earlier one are worthless.
ALTER TABLE applications ADD COLUMN epoch                 INTEGER NOT NULL DEFAULT 0;
-- The secret before the last rotation, valid until then.
ALTER TABLE applications ADD COLUMN previous_secret_hash  TEXT;
ALTER TABLE applications ADD COLUMN previous_secret_until INTEGER;
ALTER TABLE applications ADD COLUMN last_used_at          INTEGER;
-- Where its users may be sent back to after a login, and whether it can keep no secret.
ALTER TABLE applications ADD COLUMN redirect_uris         TEXT    NOT NULL DEFAULT '[]';
ALTER TABLE applications ADD COLUMN is_public             INTEGER NOT NULL DEFAULT 0;
CREATE INDEX applications_by_tenant ON applications (tenant_id);

-- Since when a key signs no more; it verifies until the last token that it signed has expired.
ALTER TABLE signing_keys ADD COLUMN retired_at INTEGER;
ALTER TABLE signing_keys ADD COLUMN verifies_until INTEGER;

CREATE TABLE revoked_tokens (
    id         TEXT    NOT NULL PRIMARY KEY,
    -- Epoch seconds; behind them the token is worthless by itself.
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX revoked_tokens_by_expiry ON revoked_tokens (expires_at);

CREATE TABLE organizations_with_all_fields (
    sequence         INTEGER PRIMARY KEY,
    tenant_id        INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    org_id           TEXT    NOT NULL,
    platform_org_id  TEXT    NOT NULL,
    parent_id        TEXT,
    name             TEXT    NOT NULL,
    order_no         INTEGER NOT NULL DEFAULT 0,
    enable_chat      INTEGER NOT NULL DEFAULT 1,
    secret_level     INTEGER NOT NULL DEFAULT 0,
    is_force_receive INTEGER NOT NULL DEFAULT 0,
    status           INTEGER NOT NULL,
    is_hidden        INTEGER NOT NULL,
    is_deleted       INTEGER NOT NULL,
    -- The fields that are kept and read back, and that no rule asks for.
    details          TEXT    NOT NULL DEFAULT '{}',
    created_at       INTEGER NOT NULL,
    -- Strictly increasing over the tenant's changes (decisions 9.6).
    updated_at       INTEGER NOT NULL,
    UNIQUE (tenant_id, org_id),
    UNIQUE (tenant_id, platform_org_id),
    UNIQUE (tenant_id, updated_at)
);

INSERT INTO organizations_with_all_fields (tenant_id, org_id, platform_org_id, parent_id, name, status, is_hidden,
        is_deleted, created_at, updated_at)
    SELECT organizations.tenant_id, org_id, platform_org_id, parent_id, organizations.name, status, is_hidden, is_deleted,
        tenants.created_at + ROW_NUMBER() OVER (PARTITION BY organizations.tenant_id ORDER BY org_id),
        tenants.created_at + ROW_NUMBER() OVER (PARTITION BY organizations.tenant_id ORDER BY org_id)
    FROM organizations JOIN tenants ON tenants.id = organizations.tenant_id;

DROP TABLE organizations;
ALTER TABLE organizations_with_all_fields RENAME TO organizations;
CREATE INDEX organizations_by_parent ON organizations (tenant_id, parent_id);

CREATE TABLE users_with_all_fields (
    sequence         INTEGER PRIMARY KEY,
    tenant_id        INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id          TEXT    NOT NULL,
    platform_user_id TEXT    NOT NULL,
    login_id         TEXT    NOT NULL,
    -- Whether the login was given as one; else the mobile number stands in, and the login follows it.
    has_own_login    INTEGER NOT NULL DEFAULT 1,
    name             TEXT    NOT NULL,
    sex              INTEGER NOT NULL,
    mobile           TEXT,
    org_id           TEXT,
    -- Further departments: a list of ids on the synchronising side.
    deputy_org_ids   TEXT    NOT NULL DEFAULT '[]',
    type             INTEGER NOT NULL DEFAULT 1,
    order_no         INTEGER NOT NULL DEFAULT 0,
    secret_level     INTEGER NOT NULL DEFAULT 0,
    status           INTEGER NOT NULL,
    is_hidden        INTEGER NOT NULL,
    is_deleted       INTEGER NOT NULL,
    -- The fields that are kept and read back, and that no rule asks for.
    details          TEXT    NOT NULL DEFAULT '{}',
    password_hash    TEXT,
    -- The address of the avatar.
    picture          TEXT,
    work_status      TEXT,
    -- Tokens carry the epoch that they were issued in; those of an earlier one are worthless.
    epoch            INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    -- Strictly increasing over the tenant's changes (decisions 9.6).
    updated_at       INTEGER NOT NULL,
    UNIQUE (tenant_id, user_id),
    UNIQUE (tenant_id, platform_user_id),
    UNIQUE (tenant_id, updated_at)
);

INSERT INTO users_with_all_fields (tenant_id, user_id, platform_user_id, login_id, has_own_login, name, sex, mobile,
        org_id, status, is_hidden, is_deleted, created_at, updated_at)
    SELECT users.tenant_id, user_id, platform_user_id, login_id, login_id IS NOT mobile, users.name, sex, mobile,
        org_id, status, is_hidden, is_deleted, tenants.created_at + ROW_NUMBER() OVER (PARTITION BY users.tenant_id ORDER BY user_id),
        tenants.created_at + ROW_NUMBER() OVER (PARTITION BY users.tenant_id ORDER BY user_id)
    FROM users JOIN tenants ON tenants.id = users.tenant_id;

DROP TABLE users;
ALTER TABLE users_with_all_fields RENAME TO users;
-- Someone who was deleted frees his login.
CREATE UNIQUE INDEX users_by_login ON users (tenant_id, login_id) WHERE is_deleted = 0;
CREATE INDEX users_by_type ON users (tenant_id, type, updated_at);
CREATE INDEX users_by_department ON users (tenant_id, org_id);
CREATE INDEX users_with_deputy_departments ON users (tenant_id) WHERE deputy_org_ids <> '[]';

UPDATE tenants SET last_change = MAX(
    COALESCE((SELECT MAX(updated_at) FROM users WHERE tenant_id = tenants.id), 0),
    COALESCE((SELECT MAX(updated_at) FROM organizations WHERE tenant_id = tenants.id), 0));

-- People and departments are searched from now on.
INSERT INTO change_log (tenant_id, module, item_id, is_last) SELECT tenant_id, 'people', user_id, 1 FROM users;
INSERT INTO change_log (tenant_id, module, item_id, is_last) SELECT tenant_id, 'department', org_id, 1 FROM organizations;

-- Avatars that came as content; the id is what their address holds, and cannot be guessed.
CREATE TABLE pictures (
    id           TEXT    NOT NULL PRIMARY KEY,
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id      TEXT    NOT NULL,
    content_type TEXT    NOT NULL,
    -- The SHA-256 of the content, to tell whether it is sent once more.
    digest       BLOB    NOT NULL,
    content      BLOB    NOT NULL,
    UNIQUE (tenant_id, user_id)
);

CREATE TABLE devices (
    -- AUTOINCREMENT: a device that is bound again is another binding, which tokens of the one before do not have.
    binding   INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id   TEXT    NOT NULL,
    device_id TEXT    NOT NULL,
    name      TEXT,
    bound_at  INTEGER NOT NULL,
    UNIQUE (tenant_id, user_id, device_id)
);

CREATE TABLE blacklist (
    tenant_id     INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id       TEXT    NOT NULL,
    black_user_id TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, black_user_id)
) WITHOUT ROWID;

-- Who did what. It refers to no other row: what it tells of may be gone.
CREATE TABLE audit (
    position    INTEGER PRIMARY KEY AUTOINCREMENT,
    at          INTEGER NOT NULL,
    -- The tenant that was acted on.
    tenant_id   INTEGER,
    tenant_code TEXT,
    -- The application that did it, and the person for whom; without an application it was the command line.
    client_id   TEXT,
    user_id     TEXT,
    action      TEXT    NOT NULL,
    object_kind TEXT    NOT NULL,
    object_id   TEXT    NOT NULL,
    -- A map; never a secret.
    details     TEXT    NOT NULL
);

CREATE INDEX audit_by_tenant ON audit (tenant_id, position);
