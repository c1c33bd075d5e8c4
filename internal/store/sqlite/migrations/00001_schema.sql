-- +goose Up
-- Without AUTOINCREMENT, the identifier of a deleted last row would be reused.
-- The upper bound is pets.MaxID. Statuses are compared one by one because SQLite
-- would build a table of an IN list at every insert.
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
    name        TEXT    NOT NULL,
    category_id INTEGER NOT NULL,
    status      TEXT    NOT NULL CHECK (status = 'available' OR status = 'pending' OR status = 'sold')
) STRICT;

-- Every page of one status is a range of this index.
CREATE INDEX pets_by_status ON pets (status, id);

-- The idempotency keys of creates, each with the API key that sent it, its pet, and
-- a hash of the request. Times are in Unix seconds. Keys are random: a short index
-- of them is faster to write than a table in their order.
CREATE TABLE idempotency_keys (
    pet_id      INTEGER PRIMARY KEY,
    key         TEXT    NOT NULL,
    key_id      TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    created_at  INTEGER NOT NULL DEFAULT (unixepoch()),
    UNIQUE (key, key_id)
) STRICT;

-- The oldest are deleted every hour.
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);

-- used_at may lag by a minute.
CREATE TABLE keys (
    id         TEXT    PRIMARY KEY,
    name       TEXT    NOT NULL,
    hash       BLOB    NOT NULL CHECK (length(hash) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    read_only  INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1)),
    used_at    INTEGER
) STRICT;
