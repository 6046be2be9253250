-- Whether a source is asked a second time where its first answer is late.
ALTER TABLE search_sources ADD COLUMN hedging INTEGER NOT NULL DEFAULT 0;
