-- +goose Up
-- The upper bound is pets.MaxID. A sequence never returns a number twice, not
-- even after a crash or a failover to a standby that commits waited for.
CREATE TABLE petstore.pets (
    id          bigint GENERATED ALWAYS AS IDENTITY (MINVALUE 1 MAXVALUE 9007199254740991 NO CYCLE) PRIMARY KEY,
    name        text   NOT NULL,
    category_id bigint NOT NULL,
    status      text   NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
);

-- Every page of one status is a range of this index.
CREATE INDEX pets_by_status ON petstore.pets (status, id);

-- The idempotency keys of creates, each with the API key that sent it, its pet, and
-- a hash of the request. COLLATE "C" compares bytes. On Citus, key decides the node
-- of a row and id that of a pet, and each must be part of every unique index.
CREATE TABLE petstore.idempotency_keys (
    key         text        COLLATE "C",
    key_id      text        COLLATE "C",
    pet_id      bigint      NOT NULL,
    fingerprint bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key, key_id)
);

-- The oldest are deleted every hour.
CREATE INDEX idempotency_keys_by_time ON petstore.idempotency_keys (created_at);

-- stored orders keys created in the same second. used_at may lag by a minute.
CREATE TABLE petstore.keys (
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
