-- +goose Up
-- AUTOINCREMENT, since without it the identifier of a removed last row would
-- be given out again. The bound is petstore.MaxID. Statuses are compared one by
-- one, since SQLite builds a table of an IN list at every insert.
CREATE TABLE pets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
    name        TEXT    NOT NULL,
    category_id INTEGER NOT NULL,
    status      TEXT    NOT NULL CHECK (status = 'available' OR status = 'pending' OR status = 'sold')
) STRICT;

-- A page of one status is a walk along this index, wherever it begins.
CREATE INDEX pets_by_status ON pets (status, id);

-- Times are Unix seconds.
CREATE TABLE keys (
    id         TEXT    PRIMARY KEY,
    name       TEXT    NOT NULL,
    hash       BLOB    NOT NULL CHECK (length(hash) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;
