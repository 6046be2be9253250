-- Times are epoch milliseconds; lists and maps are JSON text; `sealed` values are encrypted (auth/keys.rs).

CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- AUTOINCREMENT: a number is never used again, so a tenant that takes over a freed code sees nothing of the old one.
CREATE TABLE tenants (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    code       TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL
);

CREATE TABLE applications (
    client_id           TEXT    NOT NULL PRIMARY KEY,
    tenant_id           INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    kind                TEXT    NOT NULL,
    name                TEXT    NOT NULL,
    secret_hash         TEXT    NOT NULL,
    callback_key_sealed BLOB    NOT NULL,
    scopes              TEXT    NOT NULL,
    bound               TEXT    NOT NULL,
    created_at          INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE signing_keys (
    id         TEXT    NOT NULL PRIMARY KEY,
    key_sealed BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE organizations (
    tenant_id       INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    org_id          TEXT    NOT NULL,
    platform_org_id TEXT    NOT NULL,
    parent_id       TEXT,
    name            TEXT    NOT NULL,
    status          INTEGER NOT NULL,
    is_hidden       INTEGER NOT NULL,
    is_deleted      INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, org_id),
    -- Per tenant: what another one holds is no obstacle, and does not show.
    UNIQUE (tenant_id, platform_org_id)
) WITHOUT ROWID;

CREATE TABLE users (
    tenant_id        INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id          TEXT    NOT NULL,
    platform_user_id TEXT    NOT NULL,
    login_id         TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    sex              INTEGER NOT NULL,
    mobile           TEXT,
    org_id           TEXT,
    status           INTEGER NOT NULL,
    is_hidden        INTEGER NOT NULL,
    is_deleted       INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id),
    UNIQUE (tenant_id, platform_user_id)
) WITHOUT ROWID;

-- Someone who was deleted frees his login.
CREATE UNIQUE INDEX users_by_login ON users (tenant_id, login_id) WHERE is_deleted = 0;

CREATE TABLE search_sources (
    tenant_id            INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id                   TEXT    NOT NULL,
    name                 TEXT    NOT NULL,
    url                  TEXT    NOT NULL,
    method               TEXT    NOT NULL,
    auth_type            TEXT    NOT NULL,
    token_url            TEXT,
    client_id            TEXT,
    client_secret_sealed BLOB,
    scope                TEXT,
    audience             TEXT,
    result_order         TEXT    NOT NULL,
    timeout_ms           INTEGER NOT NULL,
    page_size            INTEGER NOT NULL,
    max_concurrency      INTEGER NOT NULL,
    enabled              INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;

CREATE TABLE search_modules (
    id        TEXT    NOT NULL PRIMARY KEY,
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    code      TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    icon      TEXT    NOT NULL,
    order_no  INTEGER NOT NULL,
    type      INTEGER NOT NULL,
    -- Source ids in their order: an external source's id, or builtin:CODE.
    sources   TEXT    NOT NULL,
    UNIQUE (tenant_id, code)
) WITHOUT ROWID;

CREATE TABLE contents (
    sequence   INTEGER PRIMARY KEY,
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    module       TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    -- As given; the item's time is its creation where none was.
    display_time INTEGER,
    created_at   INTEGER NOT NULL,
    visibility   TEXT,
    -- The search content item without id and displayTime.
    item         TEXT    NOT NULL,
    UNIQUE (tenant_id, module, id)
);

CREATE TABLE tasks (
    sequence        INTEGER PRIMARY KEY,
    id                TEXT    NOT NULL UNIQUE,
    tenant_id         INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    application       TEXT    NOT NULL,
    app_task_id       TEXT    NOT NULL,
    status            INTEGER NOT NULL,
    assignee_login_id TEXT    NOT NULL,
    -- Whose login that was when it was first known: a task stays its assignee's when logins change hands.
    assignee_user_id  TEXT,
    creator_id        TEXT,
    created_at        INTEGER NOT NULL,
    -- The task form as it was sent.
    task              TEXT    NOT NULL,
    UNIQUE (tenant_id, application, app_task_id)
);

CREATE INDEX tasks_of_unknown_logins ON tasks (tenant_id, assignee_login_id) WHERE assignee_user_id IS NULL;

CREATE TABLE change_log (
    -- AUTOINCREMENT: never used twice, and without gaps, so that a missing entry shows.
    position  INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id INTEGER NOT NULL,
    module    TEXT    NOT NULL,
    item_id   TEXT    NOT NULL,
    -- Whether this is the last entry of its request: what one call changed becomes visible together.
    is_last   INTEGER NOT NULL
);
