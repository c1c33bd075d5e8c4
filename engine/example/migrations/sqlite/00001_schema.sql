-- +goose Up
CREATE TABLE patients (
    id      INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
    name    TEXT    NOT NULL,
    species TEXT    NOT NULL,
    balance INTEGER NOT NULL CHECK (balance >= 0),
    removed INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE visits (
    id         INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
    patient_id INTEGER NOT NULL REFERENCES patients (id),
    day        TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    note       TEXT    NOT NULL,
    UNIQUE (patient_id, day)
) STRICT;
