-- +goose Up
-- When backups ended, in Unix seconds, so that their age can be watched.
CREATE TABLE backups (finished_at INTEGER NOT NULL) STRICT;
