-- Bytes of all files of a tenant, in all their versions (decisions 9.8), and whom its operator named to look after the folders
-- of the enterprise: a JSON list of user ids.
ALTER TABLE tenants ADD COLUMN file_bytes     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN administrators TEXT    NOT NULL DEFAULT '[]';

-- Who is in charge of which departments: the owner of their folders.
CREATE INDEX organizations_by_principal ON organizations (tenant_id, json_extract(details, '$.principal'))
    WHERE json_extract(details, '$.principal') IS NOT NULL;

-- Folders. Above the first-level folders of a subject stands its root, a row without a name that nobody sees but its owner
-- ('root', decisions 10.1). Nothing is ever moved, so what is above a folder never changes.
CREATE TABLE directories (
    sequence   INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- The folder or root above; NULL of a root, and of what was removed: it is in no tree, and neither is what is below it.
    parent_id  TEXT,
    -- Of a root: whose it is, a principal such as 'u:mei' (auth/directory).
    subject    TEXT,
    -- Of a root: bytes of the subject's files, in all their versions.
    file_bytes INTEGER NOT NULL DEFAULT 0,
    -- Of a root: whether its person or department is deleted in the directory (auth/directory).
    is_orphaned INTEGER NOT NULL DEFAULT 0,
    name       TEXT    NOT NULL,
    -- What the name is compared by (platform/directories/names).
    name_key   TEXT    NOT NULL,
    version    INTEGER NOT NULL DEFAULT 1,
    -- The user id of who locked it, and since when.
    locked_by  TEXT,
    locked_at  INTEGER,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Since when it is gone; what is below it is then removed in portions, and it at last.
    removed_at INTEGER,
    UNIQUE (tenant_id, subject)
);
CREATE UNIQUE INDEX directories_by_parent ON directories (parent_id, name_key) WHERE parent_id IS NOT NULL;
CREATE INDEX removed_directories ON directories (removed_at, id) WHERE removed_at IS NOT NULL;
CREATE INDEX locked_directories ON directories (tenant_id) WHERE locked_by IS NOT NULL;
CREATE INDEX orphaned_directories ON directories (tenant_id, subject) WHERE is_orphaned = 1;
CREATE TRIGGER people_that_go_or_come AFTER UPDATE OF is_deleted ON users WHEN new.is_deleted <> old.is_deleted BEGIN
    UPDATE directories SET is_orphaned = new.is_deleted WHERE tenant_id = new.tenant_id AND subject = 'u:' || new.user_id;
END;
CREATE TRIGGER departments_that_go_or_come AFTER UPDATE OF is_deleted ON organizations WHEN new.is_deleted <> old.is_deleted BEGIN
    UPDATE directories SET is_orphaned = new.is_deleted WHERE tenant_id = new.tenant_id AND subject = 'd:' || new.org_id;
END;
-- Somebody's who has just been deleted, by a call of his that was let in before.
CREATE TRIGGER roots_that_come_late AFTER INSERT ON directories WHEN new.subject GLOB 'u:*' BEGIN
    UPDATE directories SET is_orphaned = 1 WHERE sequence = new.sequence AND EXISTS (SELECT 1 FROM users
        WHERE tenant_id = new.tenant_id AND user_id = substr(new.subject, 3) AND is_deleted = 1);
END;

-- A right on a folder covers what is below it (decisions 10.7).
CREATE TABLE directory_grants (
    directory_id TEXT    NOT NULL REFERENCES directories (id) ON DELETE CASCADE,
    -- Who has it: a principal (auth/directory) of a user, a department or a group.
    target       TEXT    NOT NULL,
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- The root above the folder, or itself: how many rights a target has is bounded for each.
    root_id      TEXT    NOT NULL,
    -- 1 viewer, 2 downloader, 3 editor, 4 manager.
    role         INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (directory_id, target)
) WITHOUT ROWID;
CREATE INDEX grants_by_target ON directory_grants (tenant_id, target, root_id);

CREATE TABLE files (
    sequence        INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    tenant_id       INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    directory_id    TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    -- What the name is compared by (platform/directories/names).
    name_key        TEXT    NOT NULL,
    -- Without the dot, in lower case; empty where there is none.
    extension       TEXT    NOT NULL,
    -- How a text is read whose file ends in that (extraction/kind); what else a content may be, its bytes tell.
    read_as         TEXT    NOT NULL GENERATED ALWAYS AS (CASE
        WHEN extension IN ('md', 'markdown') THEN 'markdown'
        WHEN extension IN ('html', 'htm', 'xhtml') THEN 'html'
        ELSE 'plain' END) VIRTUAL,
    -- The newest one, its content and its size.
    version         INTEGER NOT NULL,
    sha256          TEXT    NOT NULL,
    size            INTEGER NOT NULL,
    -- Bytes of all its versions, as quotas count them.
    stored_bytes    INTEGER NOT NULL,
    created_by      TEXT    NOT NULL,
    created_by_name TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    UNIQUE (directory_id, name_key)
);
CREATE INDEX files_by_tenant ON files (tenant_id);
CREATE INDEX files_by_content ON files (sha256, read_as);
CREATE INDEX bytes_of_directories ON files (directory_id, stored_bytes);

CREATE TABLE file_versions (
    file_id    TEXT    NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    version    INTEGER NOT NULL,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    sha256     TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (file_id, version)
) WITHOUT ROWID;
CREATE INDEX versions_by_tenant ON file_versions (tenant_id);
CREATE INDEX versions_by_content ON file_versions (sha256);

-- What is in the store of contents, by the SHA-256 of it in hex: there is no content without a row, and no row that a version
-- names without a content.
CREATE TABLE blobs (
    sha256     TEXT    NOT NULL PRIMARY KEY,
    size       INTEGER NOT NULL,
    -- Which store has it ('local', 's3'), and what that knows it by.
    store      TEXT    NOT NULL,
    store_key  TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- What the scanner found in it; NULL of what is safe as far as is known (decisions 10.6).
    verdict    TEXT
) WITHOUT ROWID;
CREATE INDEX blobs_by_key ON blobs (store_key, store);
CREATE INDEX unsafe_blobs ON blobs (sha256) WHERE verdict IS NOT NULL;

-- Contents that may have no version any more: they are looked at, and removed where that is so.
CREATE TABLE doubtful_blobs (
    sha256 TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID;
CREATE TRIGGER versions_that_go AFTER DELETE ON file_versions BEGIN
    INSERT OR IGNORE INTO doubtful_blobs (sha256) VALUES (old.sha256);
END;

-- What is searched of a content, once for each way that a file has it be read: what others call theirs changes nothing.
CREATE TABLE blob_texts (
    sequence   INTEGER PRIMARY KEY,
    sha256     TEXT    NOT NULL REFERENCES blobs (sha256) ON DELETE CASCADE,
    read_as    TEXT    NOT NULL,
    -- NULL until it was looked at; empty where there is none.
    text       TEXT,
    -- The number of the tenant in whose turn it is read: the first one that had such a file.
    turn_of    INTEGER NOT NULL,
    -- How often its reading was cut short by what is not its fault, and when it is to be tried again, epoch ms.
    tries      INTEGER NOT NULL DEFAULT 0,
    due_at     INTEGER NOT NULL DEFAULT 0,
    -- Where not all files of this content are recorded as changed by its text yet: the number of the last one that is.
    told_after INTEGER,
    UNIQUE (sha256, read_as)
);
CREATE INDEX texts_to_come ON blob_texts (turn_of, due_at) WHERE text IS NULL;
CREATE INDEX texts_to_tell ON blob_texts (sequence) WHERE told_after IS NOT NULL;
CREATE TRIGGER files_that_come AFTER INSERT ON files BEGIN
    INSERT OR IGNORE INTO blob_texts (sha256, read_as, turn_of)
        SELECT sha256, new.read_as, new.tenant_id FROM blobs WHERE sha256 = new.sha256;
END;
CREATE TRIGGER files_that_change AFTER UPDATE OF sha256 ON files BEGIN
    INSERT OR IGNORE INTO blob_texts (sha256, read_as, turn_of)
        SELECT sha256, new.read_as, new.tenant_id FROM blobs WHERE sha256 = new.sha256;
END;

-- Folders that were renamed and those below them, whose files are still to be recorded as changed: the last one first.
CREATE TABLE renamed_directories (
    sequence     INTEGER PRIMARY KEY,
    directory_id TEXT    NOT NULL UNIQUE REFERENCES directories (id) ON DELETE CASCADE,
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- The key of the last name that was recorded.
    reached      TEXT    NOT NULL
);
CREATE INDEX renamed_directories_by_tenant ON renamed_directories (tenant_id);

-- Uploads that are not committed.
CREATE TABLE uploads (
    id             TEXT    NOT NULL PRIMARY KEY,
    tenant_id      INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- Whose it is; nobody else can do anything with it.
    user_id        TEXT    NOT NULL,
    is_multipart   INTEGER NOT NULL,
    -- What was said when it was signed, where it was.
    declared_bytes INTEGER,
    declared_sha256 TEXT,
    -- The root of the subject that it was said to be for; where nothing was said, of its person.
    root_id        TEXT,
    -- What quotas count of it: what was declared, or what has come in where that is more.
    reserved_bytes INTEGER NOT NULL,
    created_at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX uploads_by_tenant ON uploads (tenant_id, reserved_bytes);
CREATE INDEX uploads_by_person ON uploads (tenant_id, user_id);
CREATE INDEX uploads_by_root ON uploads (root_id, reserved_bytes) WHERE root_id IS NOT NULL;
CREATE INDEX uploads_by_age ON uploads (created_at);
