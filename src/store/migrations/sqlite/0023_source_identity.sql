-- How a source learns for whom it is called, in JSON.
ALTER TABLE search_sources ADD COLUMN identity TEXT;
