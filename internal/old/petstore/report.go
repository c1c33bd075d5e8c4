package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets/store"
	"example.com/petstore/internal/old/pets/wholefile"
)

// untilInterrupted runs f, which writes or reads a whole file, until a signal. outcome
// describes the file after one.
func untilInterrupted(ctx context.Context, outcome string, f func(context.Context) error) error {
	ctx, stop := program.UntilSignal(ctx)
	defer stop()
	err := f(ctx)
	if _, done := errors.AsType[*wholefile.UnsyncedError](err); err != nil && ctx.Err() != nil && !done {
		return interrupted(ctx, "interrupted; "+outcome)
	}
	return err
}

// printReport prints the contents of a file in numbers, and further lines.
func printReport(to io.Writer, about string, r store.Report, more ...string) error {
	line := fmt.Sprintf("%s: schema version %d, %s, %s, %.1f MiB", visible(about), r.Schema,
		counted(r.Animals, "animal"), counted(r.Keys, "key"), float64(r.Bytes)/(1<<20))
	_, err := fmt.Fprintln(to, strings.Join(append([]string{line}, more...), "\n"))
	return err
}

// reportJSON is the contents of a file as --json prints them. The counts are 0 where
// there are problems.
type reportJSON struct {
	Store         string   `json:"store"`
	File          string   `json:"file,omitempty"` // the backup
	SchemaVersion int64    `json:"schemaVersion"`
	Animals       int64    `json:"animals"`
	Keys          int64    `json:"keys"`
	Bytes         int64    `json:"bytes"`
	Problems      []string `json:"problems"`
}

func newReportJSON(address, file string, r store.Report) reportJSON {
	return reportJSON{
		Store: store.Redact(address), File: file, SchemaVersion: r.Schema,
		Animals: r.Animals, Keys: r.Keys, Bytes: r.Bytes, Problems: append([]string{}, r.Problems...),
	}
}
