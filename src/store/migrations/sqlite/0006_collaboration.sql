-- The state that a paused task came from, and what its end left (decisions 8.1).
ALTER TABLE tasks ADD COLUMN paused_from INTEGER;
ALTER TABLE tasks ADD COLUMN end_comment TEXT;
ALTER TABLE tasks ADD COLUMN end_result  TEXT;
ALTER TABLE tasks ADD COLUMN ended_at    INTEGER;
CREATE INDEX tasks_by_status ON tasks (status);

-- What became of each quick handling (quickDealLog, decisions 8.3, 8.4).
CREATE TABLE quick_deals (
    sequence         INTEGER PRIMARY KEY,
    tenant_id        INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    task_id          TEXT    NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    handler_login_id TEXT    NOT NULL,
    handled_at       INTEGER NOT NULL,
    -- 'begun' until its callback has ended.
    outcome          TEXT    NOT NULL,
    message          TEXT,
    took_ms          INTEGER
);
CREATE INDEX quick_deals_by_tenant ON quick_deals (tenant_id);
CREATE INDEX quick_deals_by_task ON quick_deals (task_id);

-- The time that a person's newest favorite was given, also when it is gone: no time is given twice, so that a cursor of
-- times is exact (decisions 9.3).
CREATE TABLE favorite_times (
    tenant_id       INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id         TEXT    NOT NULL,
    last_created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
) WITHOUT ROWID;

CREATE TABLE favorites (
    sequence            INTEGER PRIMARY KEY,
    -- What the index knows it by: an item may be a favorite of many.
    id                  TEXT    NOT NULL UNIQUE,
    tenant_id           INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id             TEXT    NOT NULL,
    item_id             TEXT    NOT NULL,
    -- Whether it is among his favorites, and whether among those of the feed (syncBlogFavor); one of the two at least.
    is_favorite         INTEGER NOT NULL,
    is_feed_favorite    INTEGER NOT NULL,
    -- Strictly increasing over a person's favorites (decisions 9.3).
    created_at          INTEGER NOT NULL,
    content_type        INTEGER NOT NULL,
    source_id           TEXT,
    source_type         INTEGER,
    source_name         TEXT,
    source_display_name TEXT,
    keyword             TEXT,
    -- The long texts come last: what a list is narrowed by is read without them.
    content             TEXT,
    -- What the keyword of a list is looked for in: the texts as `trawl_index::fold` makes them. Another folding needs them
    -- written anew.
    folded              TEXT    NOT NULL,
    UNIQUE (tenant_id, user_id, item_id),
    UNIQUE (tenant_id, user_id, created_at)
);

CREATE TABLE favorite_labels (
    id          TEXT    NOT NULL PRIMARY KEY,
    tenant_id   INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id     TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    remark      TEXT,
    source_id   TEXT,
    source_type INTEGER,
    source_name TEXT,
    created_at  INTEGER NOT NULL,
    UNIQUE (tenant_id, user_id, name)
) WITHOUT ROWID;

CREATE TABLE labels_of_favorites (
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    favorite  INTEGER NOT NULL REFERENCES favorites (sequence) ON DELETE CASCADE,
    label_id  TEXT    NOT NULL REFERENCES favorite_labels (id) ON DELETE CASCADE,
    -- The label's place in the list that was given.
    position  INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, favorite, label_id)
) WITHOUT ROWID;
CREATE INDEX labels_by_favorite ON labels_of_favorites (favorite);
CREATE INDEX favorites_by_label ON labels_of_favorites (label_id);

-- As favorite_times, of a tenant's badges.
CREATE TABLE badge_times (
    tenant_id       INTEGER NOT NULL PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    last_created_at INTEGER NOT NULL
);

CREATE TABLE badges (
    id              TEXT    NOT NULL PRIMARY KEY,
    tenant_id       INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name            TEXT    NOT NULL,
    remark          TEXT,
    icon            TEXT,
    pendant_icon    TEXT,
    image           TEXT,
    created_by_name TEXT    NOT NULL,
    -- Strictly increasing over a tenant's badges: the order of their list, and its cursor.
    created_at      INTEGER NOT NULL,
    -- Name and remark as `trawl_index::fold` makes them.
    folded          TEXT    NOT NULL,
    UNIQUE (tenant_id, created_at)
);

-- What `group_principal` names by its id.
CREATE TABLE groups (
    sequence   INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name       TEXT    NOT NULL,
    icon       TEXT,
    -- 1 internal, 2 external, 3 project.
    type       INTEGER NOT NULL,
    is_public  INTEGER NOT NULL,
    is_third   INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Since when it is gone; its messages are then removed in portions, and it at last.
    removed_at INTEGER
);
CREATE INDEX groups_by_tenant ON groups (tenant_id, updated_at);
CREATE INDEX removed_groups ON groups (removed_at) WHERE removed_at IS NOT NULL;

CREATE TABLE group_members (
    group_id  TEXT    NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    -- The member's own tenant: another one than the group's for outer members (decisions 9.4).
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id   TEXT    NOT NULL,
    -- 2 owner, 1 administrator, 0 ordinary member.
    role      INTEGER NOT NULL,
    joined_at INTEGER NOT NULL,
    -- Whether the group is another tenant's.
    is_outer  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (group_id, tenant_id, user_id)
) WITHOUT ROWID;
CREATE INDEX groups_by_member ON group_members (tenant_id, user_id, is_outer);
CREATE UNIQUE INDEX owners_of_groups ON group_members (group_id) WHERE role = 2;
-- Who stands in for an owner who is gone: the first in this order who is there.
CREATE INDEX members_by_rank ON group_members (group_id, role DESC, joined_at, user_id);
-- Whom nobody sees: members of groups are counted less these.
CREATE INDEX users_not_shown ON users (tenant_id, user_id) WHERE is_deleted OR is_hidden;

-- The tenants whose people may find the group: its own, and each that ever had a member in it. What a person finds hangs on
-- his being a member, so none of them has to be taken out before the group ends.
CREATE TABLE group_tenants (
    group_id  TEXT    NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- The group's messages that were said at this time or later are in that tenant's index; 0 where all of them are.
    copied_to INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (group_id, tenant_id)
) WITHOUT ROWID;
CREATE INDEX groups_of_tenants ON group_tenants (tenant_id);
CREATE INDEX groups_to_copy ON group_tenants (copied_to) WHERE copied_to > 0;

CREATE TABLE group_join_codes (
    group_id   TEXT    NOT NULL PRIMARY KEY REFERENCES groups (id) ON DELETE CASCADE,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    code       TEXT    NOT NULL UNIQUE,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX join_codes_by_tenant ON group_join_codes (tenant_id);

CREATE TABLE group_applications (
    id         TEXT    NOT NULL PRIMARY KEY,
    group_id   TEXT    NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id    TEXT    NOT NULL,
    -- 'applied', 'accepted' or 'refused'.
    state      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by TEXT
) WITHOUT ROWID;
CREATE INDEX applications_by_group ON group_applications (group_id, state, created_at);
CREATE INDEX applications_by_person ON group_applications (group_id, user_id);
CREATE INDEX group_applications_by_tenant ON group_applications (tenant_id);
CREATE UNIQUE INDEX open_applications ON group_applications (group_id, user_id) WHERE state = 'applied';

CREATE TABLE robots (
    id           TEXT    NOT NULL PRIMARY KEY,
    group_id     TEXT    NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    -- The SHA-256 of the token: it is random, so that nothing slower is needed.
    token_digest BLOB    NOT NULL UNIQUE,
    created_by   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX robots_by_group ON robots (group_id, created_at);
CREATE INDEX robots_by_tenant ON robots (tenant_id);

CREATE TABLE messages (
    sequence   INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    group_id   TEXT    NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    robot_id   TEXT    NOT NULL,
    robot_name TEXT    NOT NULL,
    -- The name of the group when it was said: who renames a group changes none of its messages.
    group_name TEXT    NOT NULL,
    -- text, links, rich or card_template.
    msg_type   TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    -- Strictly increasing over a group's messages, so that a cursor of times is exact.
    created_at INTEGER NOT NULL,
    UNIQUE (group_id, created_at)
);
CREATE INDEX messages_by_tenant ON messages (tenant_id);

-- Each change of a template is a row of its own; the newest of a code has the highest sequence.
CREATE TABLE card_templates (
    sequence   INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    code       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    template   TEXT    NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX card_templates_by_code ON card_templates (tenant_id, code, sequence);
