-- +goose Up
-- The idempotency key a pet was created with, and the API key it belongs to:
-- both, or neither. A program of the schema before goes on working: its pets
-- have neither.
ALTER TABLE pets ADD COLUMN key_id TEXT;
ALTER TABLE pets ADD COLUMN idempotency_key TEXT CHECK ((idempotency_key IS NULL) = (key_id IS NULL));

CREATE UNIQUE INDEX pets_by_idempotency_key ON pets (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
