-- +goose Up
-- used_at is when the key was last used, late by a minute at most. To a
-- program of the version before read-only keys may do everything, until it is
-- replaced.
ALTER TABLE keys
    ADD COLUMN read_only boolean NOT NULL DEFAULT false,
    ADD COLUMN used_at   timestamptz;
