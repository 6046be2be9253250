-- Statements that PostgreSQL shares name a flag itself, and the principal as a column.
DROP INDEX users_by_login;
CREATE UNIQUE INDEX users_by_login ON users (tenant_id, login_id) WHERE NOT is_deleted;
DROP INDEX orphaned_directories;
-- With the flag, which the condition reads: the index alone answers.
CREATE INDEX orphaned_directories ON directories (tenant_id, subject, is_orphaned) WHERE is_orphaned;

DROP INDEX organizations_by_principal;
ALTER TABLE organizations ADD COLUMN principal TEXT GENERATED ALWAYS AS (json_extract(details, '$.principal')) VIRTUAL;
CREATE INDEX organizations_by_principal ON organizations (tenant_id, principal) WHERE principal IS NOT NULL;
