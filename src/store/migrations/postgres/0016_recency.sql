-- How much new items gain by relevance in a module, and the age in days that halves the gain.
ALTER TABLE search_modules ADD COLUMN recency_percent BIGINT NOT NULL DEFAULT 15;
ALTER TABLE search_modules ADD COLUMN recency_half_life_days BIGINT NOT NULL DEFAULT 90;
