package main

import "log/slog"

// newLogger returns the program's logger: text for a person, JSON for a machine.
func newLogger(w world) *slog.Logger {
	if w.terminal {
		return slog.New(slog.NewTextHandler(w.stderr, nil))
	}
	return slog.New(slog.NewJSONHandler(w.stderr, nil))
}
