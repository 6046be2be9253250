-- What a tenant's operator says of words: synonyms, words never corrected, pinned items.
CREATE TABLE vocabularies (
    tenant_id  INTEGER NOT NULL PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    vocabulary TEXT    NOT NULL
) WITHOUT ROWID;
