package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"
)

func TestALineIsWhatJSONHandlerWrites(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 7, 8, 9000, time.UTC)
	record := func(message string, attrs ...slog.Attr) slog.Record {
		r := slog.NewRecord(at, slog.LevelWarn, message, 0)
		r.AddAttrs(attrs...)
		return r
	}
	for name, r := range map[string]slog.Record{
		"nothing":            record(""),
		"strings":            record("request", slog.String("path", "/v1/pets"), slog.String("", "")),
		"odd strings":        record("a\"b\\c\n\x00\u2028<é>", slog.String("k\t", "\xff\xfe 😀 \x7f")),
		"integers":           record("n", slog.Int("min", -1<<63), slog.Int64("max", 1<<63-1)),
		"more than five":     record("m", slog.Int("a", 1), slog.Int("b", 2), slog.Int("c", 3), slog.Int("d", 4), slog.Int("e", 5), slog.Int("f", 6)),
		"an error":           record("e", slog.Any("error", errors.New("no"))),
		"a duration":         record("d", slog.Duration("took", time.Second)),
		"a group":            record("g", slog.Group("in", slog.Int("a", 1))),
		"a time of its own":  record("t", slog.Time("at", at)),
		"no time":            slog.NewRecord(time.Time{}, slog.LevelInfo, "x", 0),
		"an attribute twice": record("x", slog.Int("a", 1), slog.Int("a", 2)),
	} {
		var got, want bytes.Buffer
		if h := newJSONFormatter(Options{}); !h.write(&got, r) {
			if err := NewHandler(&got, Options{}).Handle(context.Background(), r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if err := slog.NewJSONHandler(&want, nil).Handle(context.Background(), r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(fields(t, got.Bytes()), fields(t, want.Bytes())) {
			t.Errorf("%s: got %s, want %s", name, got.Bytes(), want.Bytes())
		}
		if n := bytes.Count(got.Bytes(), []byte{'\n'}); n != 1 || !bytes.HasSuffix(got.Bytes(), []byte{'\n'}) {
			t.Errorf("%s: got %q, want one line", name, got.Bytes())
		}
	}
}

func TestATimeIsWhatRFC3339NanoMakesOfIt(t *testing.T) {
	zone := time.FixedZone("", -(3*60+30)*60)
	var l line
	for _, at := range []time.Time{
		{}, // its second is the one that a new line has
		time.Unix(0, 0).UTC(),
		time.Unix(0, 1).UTC(), time.Unix(0, 10).UTC(), time.Unix(0, 999_999_999).UTC(), time.Unix(0, 100_000_000).UTC(),
		time.Date(2026, 11, 21, 6, 7, 8, 120_034_000, zone),
		time.Date(2026, 11, 21, 6, 7, 8, 0, zone),
		time.Date(1969, 12, 31, 23, 59, 59, 5, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 50, zone),
	} {
		l.text = nil
		l.time(at)
		if got, want := string(l.text), at.Format(time.RFC3339Nano); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func fields(t *testing.T, line []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return v
}
