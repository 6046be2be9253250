-- Requests a minute that a source takes, whether it is asked while a person types, and its public address.
ALTER TABLE search_sources ADD COLUMN requests_per_minute INTEGER;
ALTER TABLE search_sources ADD COLUMN while_typing INTEGER NOT NULL DEFAULT 1;
ALTER TABLE search_sources ADD COLUMN site TEXT;
