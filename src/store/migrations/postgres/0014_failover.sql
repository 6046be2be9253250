-- PostgreSQL's timeline, under which the last positions were given; 0 before the first.
ALTER TABLE change_log_end ADD COLUMN timeline BIGINT NOT NULL DEFAULT 0;

-- Transactions of each connection that writes, to tell whether one was committed whose answer was lost.
CREATE TABLE writers (
    id           TEXT NOT NULL PRIMARY KEY,
    transactions BIGINT NOT NULL,
    begun_at     BIGINT NOT NULL
) WITH (fillfactor = 50);
