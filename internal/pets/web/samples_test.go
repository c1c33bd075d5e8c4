package web_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"example.com/petstore/gen"
	"example.com/petstore/internal/edge/docs"
	"example.com/petstore/internal/pets/web"
)

// language is a client with a quick start and a story, both of which `make sdk`
// runs.
type language struct {
	Lang, Label string // as Scalar has them
	fence       string // of the quick start in Markdown, and its first line
	name        string
	story       string
	comment     string // begins a comment
}

func languages() []language {
	return []language{
		{"go", "Go", "go", "// main.go", "go/main.go", "//"},
		{"typescript", "TypeScript", "ts", "// hello.ts", "typescript/story.ts", "//"},
		{"python", "Python", "python", "# hello.py", "python/story.py", "#"},
		{"java", "Java", "java", "// Hello.java", "java/Story.java", "//"},
	}
}

// sample is one of x-codeSamples.
type sample struct{ Lang, Label, Source string }

// paragraphs are the beginnings of the stories' paragraphs that are samples, by
// operationId. An operation in neither this table nor the quick start has none.
var paragraphs = map[string]string{"getPet": "Get one"}

// TestTheSamplesAreTheTestedOnes holds samples.yaml against the programs it is made
// of. listPets and createPet have the quick starts of the clients' guide, which do
// both. Other operations have a paragraph of each story. All have their part of
// curl.sh. With UPDATE=1 the test writes the file.
func TestTheSamplesAreTheTestedOnes(t *testing.T) {
	want := map[string][]sample{}
	for id, line := range curls(t) {
		want[id] = []sample{{"shell", "curl", line}}
	}
	for _, l := range languages() {
		program := programOf(t, l)
		want["listPets"] = append(want["listPets"], sample{l.Lang, l.Label, program})
		want["createPet"] = append(want["createPet"], sample{l.Lang, l.Label, program})
		for id, beginning := range paragraphs {
			want[id] = append(want[id], sample{l.Lang, l.Label, paragraph(t, l, beginning)})
		}
	}
	var out bytes.Buffer
	out.WriteString("# Written by make docs-samples from the clients' quick starts and stories and\n# from curl.sh; change those.\n")
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(want); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("samples.yaml", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("samples.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, out.Bytes()) {
		t.Errorf("samples.yaml: got\n%s\nwant\n%s\nrun make docs-samples", got, out.Bytes())
	}
}

// programOf returns the program of a language from the clients' guide.
func programOf(t *testing.T, l language) string {
	t.Helper()
	text, err := os.ReadFile("../../proof/sdk/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, below, found := strings.Cut(string(text), "\n```"+l.fence+"\n"+l.name+"\n"); found {
		program, _, _ := strings.Cut(below, "\n```\n")
		return l.name + "\n" + program + "\n"
	}
	t.Fatalf("quick start of %s: got none, want a block that begins with %q", l.Label, l.name)
	return ""
}

// paragraph returns the part of a story whose comment begins so.
func paragraph(t *testing.T, l language, beginning string) string {
	t.Helper()
	text, err := os.ReadFile("../../proof/sdk/" + l.story)
	if err != nil {
		t.Fatal(err)
	}
	comment := l.comment + " " + beginning
	m := regexp.MustCompile(`(?s)\n([ \t]*)` + regexp.QuoteMeta(comment) + `.*?\n\n`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("%s: got no paragraph that begins with %q, want one", l.story, comment)
	}
	var lines []string
	for line := range strings.Lines(strings.Trim(m[0], "\n") + "\n") {
		if !strings.Contains(line, "//lint:") {
			lines = append(lines, strings.TrimPrefix(line, m[1]))
		}
	}
	return strings.Join(lines, "")
}

// curls returns the lines of curl.sh by operationId.
func curls(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("curl.sh")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimPrefix(string(text), "# "), "\n# ") {
		id, line, _ := strings.Cut(part, "\n")
		all[id] = strings.TrimSpace(line) + "\n"
	}
	return all
}

// asCurl stands in for curl: it prints its arguments, each ended by NUL.
const asCurl = `curl() { printf '%s\000' "$@"; }
`

// TestTheCurlLinesDoWhatTheySay reads the lines of curl.sh, and the one of the
// quick start, as a shell and curl do.
func TestTheCurlLinesDoWhatTheySay(t *testing.T) {
	lines := curls(t)
	text, err := os.ReadFile("quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	lines["quickstart.md"] = regexp.MustCompile(`curl .*`).FindString(string(text))
	for id, want := range map[string]string{
		"listPets": "GET /v1/pets?status=available", "createPet": "POST /v1/pets", "getPet": "GET /v1/pets/1", "quickstart.md": "GET /v1/pets",
	} {
		r := asRequest(t, lines[id])
		got := r.Method + " " + r.URL.RequestURI()
		if got != want || r.Header.Get("Authorization") != "Bearer "+fixedKey {
			t.Errorf("%s: got %s with Authorization %q, want %s with Bearer "+fixedKey, lines[id], got, r.Header.Get("Authorization"), want)
		}
		if r.Method != http.MethodPost {
			continue
		}
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{"name": "Frank", "categoryId": 1}` || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got the body %s (%v), want an animal as application/json", lines[id], body, err)
		}
	}
}

// asRequest returns the request that a shell and curl make of a line, with the key of
// the sandbox.
func asRequest(t *testing.T, line string) *http.Request {
	t.Helper()
	cmd := exec.Command("sh", "-c", asCurl+line)
	cmd.Env = []string{"KEY=" + fixedKey}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	r := httptest.NewRequest(http.MethodGet, strings.TrimPrefix(args[len(args)-1], "http://127.0.0.1:8080"), nil)
	for i, arg := range args {
		switch arg {
		case "-H":
			name, value, _ := strings.Cut(args[i+1], ": ")
			r.Header.Set(name, value)
		case "-d":
			r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(strings.NewReader(args[i+1])), int64(len(args[i+1]))
		}
	}
	return r
}

// shown is the part of the page's own copy of the document that the tests read.
type shown struct {
	Info  struct{ Description string }
	Tags  []struct{ Name, Description string }
	Paths map[string]map[string]struct {
		OperationID string                  `yaml:"operationId"`
		Samples     []sample                `yaml:"x-codeSamples"`
		Marks       []struct{ Name string } `yaml:"x-badges"`
	}
}

// ofPage returns the page's own copy of the document.
func ofPage(t *testing.T) (doc shown, text string) {
	t.Helper()
	site, err := docs.New(docs.Page{Document: gen.Document, Base: "/v1", QuickStart: web.QuickStart, Samples: web.Samples})
	if err != nil {
		t.Fatal(err)
	}
	handlers, err := site.Handlers()
	if err != nil {
		t.Fatal(err)
	}
	for path, h := range handlers {
		if strings.HasPrefix(path, "/docs/document-") {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			text = w.Body.String()
		}
	}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc, text
}

func TestThePageHasSamplesOfEveryClientBesideEveryOperation(t *testing.T) {
	doc, _ := ofPage(t)
	if len(doc.Paths) == 0 {
		t.Error("paths of the page: got none, want those of the document")
	}
	for _, item := range doc.Paths {
		for _, o := range item {
			var labels []string
			for _, s := range o.Samples {
				labels = append(labels, s.Label)
			}
			if want := []string{"curl", "Go", "TypeScript", "Python", "Java"}; !slices.Equal(labels, want) {
				t.Errorf("samples of %s: got %v, want %v; add it to curl.sh and to the stories, and its paragraph to the table above", o.OperationID, labels, want)
			}
		}
	}
	if bytes.Contains(gen.Document, []byte("x-codeSamples")) {
		t.Error("openapi.yaml: got samples in it, want them in the page's copy alone")
	}
}

func TestThePageHasAnEntryForEachSectionBeforeTheOperations(t *testing.T) {
	doc, text := ofPage(t)
	if d := doc.Info.Description; !strings.Contains(d, "## Quick start") || strings.Contains(d, "| Status |") || !strings.HasPrefix(d, "A catalogue of animals") {
		t.Errorf("description: got %q, want the first paragraph and the quick start", d)
	}
	var names []string
	for _, tag := range doc.Tags {
		names = append(names, tag.Name)
		if tag.Name == "Errors" && !strings.Contains(tag.Description, "| 404 | `not_found` |") {
			t.Errorf("Errors: got %q, want the table of errors", tag.Description)
		}
	}
	if want := []string{"Authentication", "Errors", "Safe retries", "Numbers", "Evolution", "Links", "Changes", "pets"}; !slices.Equal(names, want) {
		t.Errorf("entries: got %v, want %v", names, want)
	}
	for _, heading := range regexp.MustCompile(`(?m)^ *#+ .*`).FindAllString(string(gen.Document), -1) {
		if !strings.Contains(text, strings.TrimLeft(heading, "# ")) {
			t.Errorf("the page: got no section %q, want all of openapi.yaml", heading)
		}
	}
}

func TestThePageSaysBesideADeprecatedOperationUntilWhenItWorks(t *testing.T) {
	doc, _ := ofPage(t)
	for _, item := range doc.Paths {
		for _, o := range item {
			want := ""
			if o.OperationID == "getPet" {
				want = "deprecated, removed on 5 December 2030, use GET /pets with a status filter instead"
			}
			got := ""
			if len(o.Marks) == 1 {
				got = o.Marks[0].Name
			}
			if got != want {
				t.Errorf("mark of %s: got %q, want %q", o.OperationID, got, want)
			}
		}
	}
}
