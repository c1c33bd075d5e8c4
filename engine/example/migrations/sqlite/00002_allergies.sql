-- +goose Up
ALTER TABLE patients ADD COLUMN allergies TEXT NOT NULL DEFAULT 'null';
