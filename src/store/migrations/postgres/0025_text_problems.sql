-- Why a text is empty or not whole; NULL where nothing is missing.
ALTER TABLE blob_texts ADD COLUMN problem TEXT;
-- Contents are read again, as more of them can be read now. The index keeps their texts meanwhile.
UPDATE blob_texts SET text = NULL, tries = 0, due_at = 0;
