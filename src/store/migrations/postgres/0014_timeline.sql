-- PostgreSQL's timeline, under which the last positions were given; 0 before the first.
ALTER TABLE change_log_end ADD COLUMN timeline BIGINT NOT NULL DEFAULT 0;
