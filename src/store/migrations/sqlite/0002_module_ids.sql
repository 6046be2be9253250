-- A module's id is its tenant's own: what another tenant holds is no obstacle, and does not show.
CREATE TABLE search_modules_of_tenants (
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id        TEXT    NOT NULL,
    code      TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    icon      TEXT    NOT NULL,
    order_no  INTEGER NOT NULL,
    type      INTEGER NOT NULL,
    -- Source ids in their order: an external source's id, or builtin:CODE.
    sources   TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, code)
) WITHOUT ROWID;

INSERT INTO search_modules_of_tenants (tenant_id, id, code, name, icon, order_no, type, sources)
    SELECT tenant_id, id, code, name, icon, order_no, type, sources FROM search_modules;

DROP TABLE search_modules;

ALTER TABLE search_modules_of_tenants RENAME TO search_modules;
