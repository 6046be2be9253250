-- The last position that was given: positions are given at the end of a transaction, on SQLite as on PostgreSQL.
CREATE TABLE change_log_end (
    position INTEGER NOT NULL PRIMARY KEY
) WITHOUT ROWID;
INSERT INTO change_log_end (position) SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'change_log';
