package logging

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 21, 6, 7, 8, 9000, time.UTC)

func record(message string, attrs ...slog.Attr) slog.Record {
	r := slog.NewRecord(at, slog.LevelWarn, message, 0)
	r.AddAttrs(attrs...)
	return r
}

// lineOf returns the line of a record by the queue.
func lineOf(t *testing.T, o Options, r slog.Record) string {
	t.Helper()
	var out bytes.Buffer
	logger, end := New(&out, o)
	if err := logger.Handler().Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	end()
	return out.String()
}

func TestTheFormOfALineStays(t *testing.T) {
	r := record("a \"request\"", slog.String("path", "/v1/<é>\n\\\x00\xff\u2028 😀"), slog.Int("status", 200), slog.Bool("b", true),
		slog.Duration("took", time.Second), slog.Any("error", errors.New("no")), slog.String("path", "again"))
	want := `{"time":"2026-11-21T06:07:08.000009Z","level":"WARN","msg":"a \"request\"","path":"/v1/<é>\n\\\u0000\ufffd\u2028 😀","status":200,"b":true,"took":1000000000,"error":"no","path":"again"}` + "\n"
	if got := lineOf(t, Options{}, r); got != want {
		t.Errorf("got  %s, want %s", got, want)
	}
}

// slogOf returns slog's own handler, without a redactor.
func slogOf(w io.Writer, o Options) slog.Handler {
	if o.Text {
		return slog.NewTextHandler(w, nil)
	}
	return slog.NewJSONHandler(w, nil)
}

func TestALineIsWhatSlogWrites(t *testing.T) {
	for name, r := range map[string]slog.Record{
		"nothing":            record(""),
		"strings":            record("request", slog.String("path", "/v1/books ~!#$&'()*+,-./:;<=>?@[]^_`{|}"), slog.String("", "")),
		"odd strings":        record("a\"b\\c\n\x00\u2028<é>", slog.String("k\t", "\xff\xfe 😀 \x7f %41 %")),
		"a quotation mark":   record("x", slog.String("path", `/"`)),
		"a backslash":        record("x", slog.String("path", `/\`)),
		"no UTF-8":           record("x", slog.String("path", "/\xff")),
		"an odd key":         record("x", slog.Int(`"`, 1)),
		"integers":           record("n", slog.Int("min", -1<<63), slog.Int64("max", 1<<63-1), slog.Uint64("u", 1<<64-1)),
		"more than five":     record("m", slog.Int("a", 1), slog.Int("b", 2), slog.Int("c", 3), slog.Int("d", 4), slog.Int("e", 5), slog.Int("f", 6)),
		"an error":           record("e", slog.Any("error", errors.New("no"))),
		"a duration":         record("d", slog.Duration("took", time.Second)),
		"a group":            record("g", slog.Group("in", slog.Int("a", 1))),
		"a time of its own":  record("t", slog.Time("at", at)),
		"no time":            slog.NewRecord(time.Time{}, slog.LevelInfo, "x", 0),
		"an attribute twice": record("x", slog.Int("a", 1), slog.Int("a", 2)),
	} {
		for _, o := range []Options{{}, {Text: true}, {Secrets: []string{"a-fixed-key"}}, {Secrets: []string{"päss \"word\""}}} {
			var want bytes.Buffer
			if err := slogOf(&want, o).Handle(context.Background(), r); err != nil {
				t.Fatal(err)
			}
			if got := lineOf(t, o, r); got != want.String() {
				t.Errorf("%s, %+v: got %s, want %s", name, o, got, want.String())
			}
		}
	}
}

func TestASecretThatIsEscapedInALineIsFound(t *testing.T) {
	for _, secret := range []string{`pass"word`, `pass\word`, "päss word", "pass\u2028word"} {
		for _, text := range []bool{false, true} {
			if got := lineOf(t, Options{Text: text, Secrets: []string{secret}}, record("r", slog.String("path", "/"+secret))); bytes.Contains([]byte(got), []byte("word")) {
				t.Errorf("%q: got %s, want it redacted", secret, got)
			}
		}
	}
}
