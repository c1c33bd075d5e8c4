-- +goose Up
-- A program of the schema before goes on working: its keys may do everything,
-- and to it so may read-only ones, until it is replaced.
ALTER TABLE keys ADD COLUMN read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1));
-- When the key was last used, in Unix seconds; behind by a minute at most.
ALTER TABLE keys ADD COLUMN used_at INTEGER;
