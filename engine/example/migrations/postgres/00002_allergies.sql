-- +goose Up
ALTER TABLE clinic.patients ADD COLUMN allergies jsonb;
