-- PostgreSQL's timeline, under which the last positions were given; 0 on SQLite.
ALTER TABLE change_log_end ADD COLUMN timeline INTEGER NOT NULL DEFAULT 0;

-- Transactions of each connection that writes, to tell whether one was committed whose answer was lost. Empty on SQLite.
CREATE TABLE writers (
    id           TEXT NOT NULL PRIMARY KEY,
    transactions INTEGER NOT NULL,
    begun_at     INTEGER NOT NULL
) WITHOUT ROWID;
