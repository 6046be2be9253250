-- How much a source counts by relevance, in thousandths.
ALTER TABLE search_sources ADD COLUMN weight INTEGER NOT NULL DEFAULT 1000;

-- What a module does with items that several of its sources have: keep, byId or byAction.
ALTER TABLE search_modules ADD COLUMN duplicates TEXT NOT NULL DEFAULT 'keep';
