package check_test

import (
	"net/http"
	"net/url"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"example.com/petstore/internal/check"
)

// asCurl stands in for curl: it prints its arguments and then its input,
// each ended by NUL.
const asCurl = `curl() { printf '%s\000' "$@"; case "$*" in *'--data-binary @-'*) cat;; esac; }
`

// curled reads a line as curl would, after a shell has.
func curled(t *testing.T, line string) check.Sent {
	t.Helper()
	cmd := exec.Command("sh", "-c", asCurl+line)
	cmd.Env = []string{"PETSTORE_KEY=" + key, "PATH=/usr/bin:/bin"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%.200s: %v", line, err)
	}
	args := strings.Split(string(out), "\x00")
	stdin := strings.Join(args[len(args)-1:], "\x00")
	args = args[:len(args)-1]
	s := check.Sent{Method: "GET", Header: http.Header{}, URL: args[len(args)-1]}
	for i := 0; i < len(args)-1; i++ {
		switch args[i] {
		case "-sS", "-g", "-i":
		case "-I":
			s.Method = "HEAD"
		case "-X":
			i++
			s.Method = args[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(args[i], ":")
			if empty, ok := strings.CutSuffix(args[i], ";"); ok {
				s.Header.Add(empty, "")
			} else if value != "" {
				s.Header.Add(name, strings.TrimPrefix(value, " "))
			}
		case "--data-binary":
			i++
			s.HasBody, s.Body = true, args[i]
			if s.Body == "@-" {
				s.Body = stdin
			}
			if s.Method == "GET" {
				s.Method = "POST"
			}
		default:
			t.Fatalf("%.200s: got argument %q, want only those this test knows", line, args[i])
		}
	}
	return s
}

func TestTheCurlLineOfEveryRequestSendsThatRequest(t *testing.T) {
	all := check.EveryRequest(t.Context(), serve(t, rightHandler(t, 30)))
	if len(all) < 200 {
		t.Fatalf("requests: got %d, want those of all rules", len(all))
	}
	seen := map[string]bool{}
	for _, want := range all {
		if seen[want.Curl] {
			continue
		}
		seen[want.Curl] = true
		if strings.Contains(want.Curl, key) || strings.ContainsFunc(want.Curl, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q: got the key or what no terminal shows, want neither", want.Curl)
		}
		if len(want.Curl) > 1500 {
			t.Errorf("%.100s…: got %d characters, want a line", want.Curl, len(want.Curl))
		}
		line := want.Curl
		want.Curl = ""
		if got := curled(t, line); !reflect.DeepEqual(got, want) {
			t.Errorf("%.300s\ngot  %+.300v\nwant %+.300v", line, got, want)
		}
	}
}

func TestALinkOfTheServersIsHarmlessInACurlLine(t *testing.T) {
	bad := "/v1/pets?limit=7&a=';touch x;'&b=$(id)`id`\"\\" + url.QueryEscape(key) + "&after=999&c=$PETSTORE_KEY$(id)`id`\"\\'é"
	report := run(t, serve(t, wrong(rightHandler(t, 30), nil, func(x *exchange) {
		if x.header.Get("Link") != "" {
			x.header.Set("Link", "<"+bad+`>; rel="next"`)
		}
		if strings.Contains(x.query(), "touch") {
			x.fails(400, "invalid_parameter")
		}
	})))
	for _, r := range report.Results {
		if !strings.Contains(r.Curl, "touch") {
			continue
		}
		if got := curled(t, r.Curl); !strings.Contains(got.URL, "';touch") || !strings.Contains(got.URL, "$(id)`id`\"\\") || strings.Contains(r.Curl, key) {
			t.Errorf("%s: got %s, want the link as it is", r.Curl, got.URL)
		}
		return
	}
	t.Error("got no rule with that link, want one")
}
