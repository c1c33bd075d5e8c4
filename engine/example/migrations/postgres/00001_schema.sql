-- +goose Up
CREATE TABLE clinic.patients (
    id      bigint  GENERATED ALWAYS AS IDENTITY (MINVALUE 1 MAXVALUE 9007199254740991 NO CYCLE) PRIMARY KEY,
    name    text    NOT NULL,
    species text    NOT NULL,
    balance bigint  NOT NULL CHECK (balance >= 0),
    removed boolean NOT NULL DEFAULT false
);

CREATE TABLE clinic.visits (
    id         bigint GENERATED ALWAYS AS IDENTITY (MINVALUE 1 MAXVALUE 9007199254740991 NO CYCLE) PRIMARY KEY,
    patient_id bigint NOT NULL REFERENCES clinic.patients (id),
    day        text   NOT NULL,
    reason     text   NOT NULL,
    note       text   NOT NULL,
    UNIQUE (patient_id, day)
);
