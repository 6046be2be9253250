-- The mapping of a source that does not keep the contract, in JSON.
ALTER TABLE search_sources ADD COLUMN mapping TEXT;
ALTER TABLE search_sources ADD COLUMN api_key_parameter TEXT;
