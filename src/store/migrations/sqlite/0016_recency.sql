-- How much new items gain by relevance in a module, and the age in days that halves the gain.
ALTER TABLE search_modules ADD COLUMN recency_percent INTEGER NOT NULL DEFAULT 15;
ALTER TABLE search_modules ADD COLUMN recency_half_life_days INTEGER NOT NULL DEFAULT 90;
