-- PostgreSQL's timeline, under which the last positions were given; 0 on SQLite.
ALTER TABLE change_log_end ADD COLUMN timeline INTEGER NOT NULL DEFAULT 0;
