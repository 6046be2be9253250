-- Keys of contents that no row names any more, to be removed from their store.
CREATE TABLE removed_blobs (
    store_key TEXT NOT NULL PRIMARY KEY
);

-- Since when a commit is in progress; 0 of contents that lost a version.
ALTER TABLE doubtful_blobs ADD COLUMN noted_at BIGINT NOT NULL DEFAULT 0;
CREATE OR REPLACE FUNCTION doubt_blob() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO doubtful_blobs (sha256) VALUES (old.sha256) ON CONFLICT (sha256) DO UPDATE SET noted_at = 0;
    RETURN NULL;
END $$;
