-- +goose Up
-- The upper bound is pets.MaxID. A sequence never returns a number twice, not
-- even after a crash or a failover.
CREATE TABLE pets (
    id              bigint GENERATED ALWAYS AS IDENTITY (MINVALUE 1 MAXVALUE 9007199254740991 NO CYCLE) PRIMARY KEY,
    name            text   NOT NULL,
    category_id     bigint NOT NULL,
    status          text   NOT NULL CHECK (status IN ('available', 'pending', 'sold')),
    -- The API key and idempotency key of the request that created the pet, or
    -- both NULL. COLLATE "C" compares bytes.
    key_id          text   COLLATE "C",
    idempotency_key text   COLLATE "C",
    CHECK ((idempotency_key IS NULL) = (key_id IS NULL))
);

-- Every page of one status is a range of this index.
CREATE INDEX pets_by_status ON pets (status, id);

CREATE UNIQUE INDEX pets_by_idempotency_key ON pets (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- stored orders keys created in the same second. used_at may lag by a minute.
CREATE TABLE keys (
    id         text COLLATE "C" PRIMARY KEY,
    name       text        NOT NULL,
    hash       bytea       NOT NULL CHECK (length(hash) = 32),
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    stored     bigint GENERATED ALWAYS AS IDENTITY,
    read_only  boolean NOT NULL DEFAULT false,
    used_at    timestamptz
);
