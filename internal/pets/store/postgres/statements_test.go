package postgres

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sqlStatement is a statement of a migration in upper case, with one space between
// words, without comments, and with ” in the place of each literal.
type sqlStatement struct {
	text     string
	comments []string // before or within it, without the dashes
}

// The beginnings of texts in which a semicolon ends no statement.
var (
	lineComment  = regexp.MustCompile(`^--[^\n]*`)
	blockComment = regexp.MustCompile(`(?s)^/\*.*?\*/`)
	literal      = regexp.MustCompile(`(?s)^'(?:[^']|'')*'`)
	escaped      = regexp.MustCompile(`(?si)^E'(?:[^'\\]|\\.|'')*'`)
	dollarTag    = regexp.MustCompile(`^\$(?:[A-Za-z_]\w*)?\$`)
	identifier   = regexp.MustCompile(`(?s)^"[^"]*"`)
	word         = regexp.MustCompile(`^\w+`)
)

// sqlStatements splits the part of a migration that brings the schema up to date. A text
// that does not end is taken for its first character, and a comment within a comment
// ends both: more is then seen as a statement, never less.
func sqlStatements(migration string) (statements []sqlStatement) {
	var s sqlStatement
	end := func() {
		if s.text = strings.Join(strings.Fields(s.text), " "); s.text != "" {
			statements = append(statements, s)
		}
		s = sqlStatement{}
	}
	for rest := migration; rest != ""; {
		size, text := 1, rest[:1]
		switch {
		case lineComment.MatchString(rest):
			size, text = len(lineComment.FindString(rest)), " "
			comment := strings.TrimSpace(rest[2:size])
			if comment == "+goose Down" {
				end()
				return statements
			}
			s.comments = append(s.comments, comment)
		case blockComment.MatchString(rest):
			size, text = len(blockComment.FindString(rest)), " "
		case literal.MatchString(rest):
			size, text = len(literal.FindString(rest)), "''"
		case escaped.MatchString(rest):
			size, text = len(escaped.FindString(rest)), "''"
		case identifier.MatchString(rest):
			size = len(identifier.FindString(rest))
			text = strings.ReplaceAll(rest[:size], " ", "_")
		case dollarTag.MatchString(rest):
			tag := dollarTag.FindString(rest)
			if i := strings.Index(rest[len(tag):], tag); i >= 0 {
				size, text = i+2*len(tag), "''"
			}
		case word.MatchString(rest):
			size = len(word.FindString(rest))
			text = strings.ToUpper(rest[:size])
		case text == ";":
			end()
			text = ""
		}
		s.text += text
		rest = rest[size:]
	}
	end()
	return statements
}

func TestCommentsAndLiteralsEndNoStatement(t *testing.T) {
	for text, want := range map[string][]string{
		"SELECT 1; SELECT 2":                             {"SELECT 1", "SELECT 2"},
		"select 'a;b' , \"c;d\";":                        {`SELECT '' , "c;d"`},
		"-- a; b\nSELECT 1 -- c; d":                      {"SELECT 1"},
		"SELECT '--', 2":                                 {"SELECT '', 2"},
		"SELECT 'it''s; ' || E'\\'; '":                   {"SELECT '' || ''"},
		"SELECT $$ a; 'b $$, $x$ ; $$ $x$;SELECT $1":     {"SELECT '', ''", "SELECT $1"},
		"SELECT /* a; ' */ 1":                            {"SELECT 1"},
		"SELECT 1 /* a /* b; */ ; */ DROP TABLE x":       {"SELECT 1", "*/ DROP TABLE X"},
		"SELECT 'never ends; SELECT 2":                   {"SELECT 'NEVER ENDS", "SELECT 2"},
		"SELECT 1;\n-- +goose Down\nDROP TABLE x":        {"SELECT 1"},
		"SELECT '\n-- +goose Down\n' ; SELECT 2":         {"SELECT ''", "SELECT 2"},
		"-- +goose StatementBegin\nSELECT 1;\n;; -- end": {"SELECT 1"},
	} {
		var got []string
		for _, s := range sqlStatements(text) {
			got = append(got, s.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
