-- Where a session began, and by which browser; NULL for earlier ones.
ALTER TABLE sessions ADD COLUMN address TEXT;
ALTER TABLE sessions ADD COLUMN user_agent TEXT;

-- Second factors of people who sign in by password: the secret that holds, and one that is offered until a code confirms it.
CREATE TABLE second_factors (
    tenant_id       BIGINT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_id         TEXT   NOT NULL,
    sealed_secret   BYTEA,
    sealed_offer    BYTEA,
    confirmed_at    BIGINT,
    -- The time step of the last code used; no code of it or of an earlier one is good.
    last_step       BIGINT NOT NULL,
    -- Since the last right one.
    wrong_codes     BIGINT NOT NULL,
    -- Hashes of the unused recovery codes, a JSON list.
    recovery_hashes TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
