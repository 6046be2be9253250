-- The header of a source's API key, and the user name of its password. client_secret_sealed holds the secret of every type.
ALTER TABLE search_sources ADD COLUMN api_key_header TEXT;
ALTER TABLE search_sources ADD COLUMN username TEXT;
