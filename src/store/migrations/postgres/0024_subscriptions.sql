-- Feeds, folders and queries whose entries become items of a built-in module.
CREATE TABLE subscriptions (
    tenant_id        BIGINT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id               TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    module           TEXT    NOT NULL,
    -- JSON: the kind of source and its settings.
    origin           TEXT    NOT NULL,
    secret_sealed    BYTEA,
    interval_minutes BIGINT NOT NULL,
    keep_days        BIGINT,
    enabled          BOOLEAN NOT NULL,
    visibility       TEXT,
    -- Raised by each change; a run of earlier settings writes nothing more.
    revision         BIGINT NOT NULL DEFAULT 0,
    -- Raised by each change of the visibility; items follow in portions while `audience_is_new`.
    audience         BIGINT NOT NULL DEFAULT 0,
    audience_is_new  BOOLEAN NOT NULL DEFAULT FALSE,
    -- One run at a time.
    host             TEXT    NOT NULL,
    -- JSON: where the next run continues.
    position         TEXT    NOT NULL DEFAULT '{}',
    items            BIGINT NOT NULL DEFAULT 0,
    runs             BIGINT NOT NULL DEFAULT 0,
    failures         BIGINT NOT NULL DEFAULT 0,
    last_run         TEXT,
    -- NULL until an operator asks for a run.
    next_run_at      BIGINT,
    run_requests     BIGINT NOT NULL DEFAULT 0,
    removed_at       BIGINT,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX subscriptions_by_next_run ON subscriptions (next_run_at) WHERE next_run_at IS NOT NULL;

-- Entries that became items. Without a hash, the item is removed and its entry not taken again.
CREATE TABLE subscription_items (
    tenant_id       BIGINT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    subscription_id TEXT    NOT NULL,
    item_id         TEXT    NOT NULL,
    hash            TEXT,
    first_seen      BIGINT NOT NULL,
    -- The item's time, or when it was first seen.
    shown_at        BIGINT NOT NULL,
    audience        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, subscription_id, item_id)
);
CREATE INDEX subscription_items_by_age ON subscription_items (tenant_id, subscription_id, shown_at) WHERE hash IS NOT NULL;

-- Hosts that asked for a pause (`Retry-After`).
CREATE TABLE subscription_hosts (
    host     TEXT    NOT NULL PRIMARY KEY,
    rests_to BIGINT NOT NULL
);
