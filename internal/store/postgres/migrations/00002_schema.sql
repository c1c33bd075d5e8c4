-- +goose Up
-- The bound is pets.MaxID. A sequence never gives a number twice, and
-- after a crash or a failover goes on behind those it gave.
CREATE TABLE pets (
    id              bigint GENERATED ALWAYS AS IDENTITY (MINVALUE 1 MAXVALUE 9007199254740991 NO CYCLE) PRIMARY KEY,
    name            text   NOT NULL,
    category_id     bigint NOT NULL,
    status          text   NOT NULL CHECK (status IN ('available', 'pending', 'sold')),
    -- The idempotent request that made the pet: its API key and its idempotency
    -- key. Both, or neither. Bytes are compared, not letters.
    key_id          text   COLLATE "C",
    idempotency_key text   COLLATE "C",
    CHECK ((idempotency_key IS NULL) = (key_id IS NULL))
);

-- A page of one status is a walk along this index, wherever it begins.
CREATE INDEX pets_by_status ON pets (status, id);

CREATE UNIQUE INDEX pets_by_idempotency_key ON pets (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- stored tells the order of keys made in the same second; used_at is late by a
-- minute at most.
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
