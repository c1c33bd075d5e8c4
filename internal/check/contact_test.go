package check_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/check"
)

func TestOnlyAnAddressThatTheKeyCanGoToIsTaken(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:8080/v1":       "http://127.0.0.1:8080/v1",
		"http://127.0.0.1:8080/v1/":      "http://127.0.0.1:8080/v1",
		"https://pets.example.com/a/v1/": "https://pets.example.com/a/v1",
		"http://127.0.0.1:4010":          "http://127.0.0.1:4010",
		"":                               "",
		"127.0.0.1:8080/v1":              "",
		"localhost:8080/v1":              "",
		"ftp://example.com/v1":           "",
		"http:///v1":                     "",
		"http://someone:secret@x/v1":     "",
		"http://x/v1?key=secret":         "",
		"http://x/v1?":                   "",
		"http://x/v1#secret":             "",
		"http://x\n/v1":                  "",
	} {
		u, err := check.ParseBase(address)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q: got %v, want an error", address, u)
		case want == "" && strings.Contains(err.Error(), "secret"):
			t.Errorf("%q: got error %q, want nothing secret in it", address, err)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%q: got %v (error %v), want %s", address, u, err, want)
		}
	}
}

func TestOnlyAKeyThatCanBeSentIsTakenAndNoneIsShown(t *testing.T) {
	for _, k := range []string{"x", key, "psk_aaaaaaaa_b", "a!b~=="} {
		if got, err := check.ParseKey(k); err != nil || got != k {
			t.Errorf("%q: got %q (error %v), want it", k, got, err)
		}
	}
	for _, k := range []string{"", "secret\n", "sec ret", "secret\x00", "secrét", "\xffsecret"} {
		if got, err := check.ParseKey(k); err == nil || got != "" || strings.Contains(err.Error(), "secr") {
			t.Errorf("%q: got %q (error %v), want an error that does not show it", k, got, err)
		}
	}
}

// handler responds to everything in the same way.
func handler(status int, body string, header ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func wantNoRules(t *testing.T, cfg check.Config, want string) {
	t.Helper()
	report, err := check.Run(t.Context(), cfg)
	if err == nil || len(report.Results) > 0 {
		t.Fatalf("got %d rules (error %v), want none and an error", len(report.Results), err)
	}
	if matched, _ := regexp.MatchString(want, err.Error()); !matched || strings.Contains(err.Error(), key) {
		t.Errorf("error: got %q, want a match of %q, without the key", err, want)
	}
}

func TestWhoCannotBeCheckedIsSaidInOneSentence(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	plain := httptest.NewServer(handler(200, "[]"))
	defer plain.Close()
	encrypted := httptest.NewUnstartedServer(handler(200, "[]"))
	encrypted.Config.ErrorLog = quiet
	encrypted.StartTLS()
	defer encrypted.Close()
	closed := httptest.NewServer(handler(200, "[]"))
	closed.Close()
	for name, c := range map[string]struct{ address, want string }{
		"nothing listens":       {closed.URL + "/v1", "^cannot reach http://127.*: nothing listens at 127.0.0.1:[0-9]+$"},
		"no such host":          {"http://no-such-host.invalid/v1", "no host no-such-host.invalid|cannot reach"},
		"TLS to plain HTTP":     {strings.Replace(plain.URL, "http:", "https:", 1) + "/v1", "does not speak TLS: give an address that begins with http://"},
		"plain HTTP to TLS":     {strings.Replace(encrypted.URL, "https:", "http:", 1) + "/v1", "speaks TLS: give an address that begins with https://"},
		"an unknown authority":  {encrypted.URL + "/v1", "signed by an authority that this machine does not trust; SSL_CERT_FILE"},
		"a port out of bounds":  {"http://127.0.0.1:99999/v1", "cannot reach"},
		"a name of another one": {strings.Replace(encrypted.URL, "127.0.0.1", "localhost", 1) + "/v1", "its certificate is"},
	} {
		t.Run(name, func(t *testing.T) { wantNoRules(t, configFor(t, c.address), c.want) })
	}
}

func TestAnAnswerThatIsNoneOfTheContractsEndsTheCheck(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.Handler
		want    string
	}{
		"401 with the key": {handler(401, `{"message":"I know `+key+`"}`), "refuses the key in PETSTORE_KEY: it responds with 401 .*PETSTORE_KEY"},
		"403 with the key": {handler(403, ""), "refuses the key"},
		"404":              {handler(404, "nothing\x1b[31m"), `there is nothing at .*/v1/pets: it responds with 404 nothing\\x1b\[31m$`},
		"502":              {handler(502, ""), "nothing to judge at .*: it responds with 502"},
		"a redirect":       {handler(301, "", "Location", "https://other.example/v1/pets"), "leads to https://other.example/v1/pets: it responds with 301; give the address it leads to"},
		"nonsense":         {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "cannot reach .*EOF"},
	} {
		t.Run(name, func(t *testing.T) { wantNoRules(t, serve(t, c.handler), c.want) })
	}
	t.Run("the version is missing", func(t *testing.T) {
		cfg := serve(t, handler(404, ""))
		cfg.Base.Path = ""
		wantNoRules(t, cfg, "a base address ends in /v1: try http://127.0.0.1:[0-9]+/v1$")
	})
	t.Run("no rule matches", func(t *testing.T) {
		cfg := serve(t, handler(200, "[]"))
		cfg.Only = regexp.MustCompile("^no such rule$")
		wantNoRules(t, cfg, "no rule matches")
	})
}

func TestTheKeyStaysWithTheHostOfTheAddress(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	// Every way out: a redirect, a link, a Location, all to another host.
	cfg := serve(t, wrong(rightHandler(t, 30), nil, func(x *exchange) {
		for _, name := range []string{"Location", "Link"} {
			if value := x.header.Get(name); value != "" {
				x.header.Set(name, strings.Replace(value, "/v1", other.URL+"/v1", 1))
			}
		}
		if x.query() == "" && x.keyed() || x.path() == "/pets/abc" {
			x.status = 307
			x.header.Set("Location", other.URL+"/v1/pets")
		}
	}))
	report := run(t, cfg)
	if elsewhere.Load() != 0 {
		t.Errorf("requests to another host: got %d, want none", elsewhere.Load())
	}
	for _, want := range []string{"the list is 200", "the next link leads to this address"} {
		for _, r := range report.Results {
			if r.Title == want && (r.Verdict != check.Fails || !strings.Contains(r.Got, other.URL)) {
				t.Errorf("%s: got %s, %q, want it to fail and to name the other host", r.Title, r.Verdict, r.Got)
			}
		}
	}
}

func TestTheKeyIsNotShownEvenWhereTheServerSaysIt(t *testing.T) {
	echo := func(x *exchange) {
		said := x.request.Header.Get("Authorization")
		x.body = `{"code":"` + said + `","message":"` + said + "\x1b[31m" + `","status":"` + said + `"}`
		for _, name := range []string{"Link", "Location", "WWW-Authenticate", "Allow", "Content-Type", "X-Request-Id", "Retry-After", "Deprecation"} {
			x.header.Set(name, said)
		}
		x.header.Set("Link", `</v1/pets?limit=7&after=`+key+"\u009b"+`>; rel="next"`)
	}
	report := run(t, serve(t, wrong(rightHandler(t, 30), nil, echo)))
	if report.Count(check.Fails) < 50 {
		t.Errorf("got %d rules that do not hold, want most", report.Count(check.Fails))
	}
	for _, r := range report.Results {
		if text := r.Got + r.Want + r.Why + r.Curl; strings.Contains(text, key) || strings.ContainsAny(text, "\x1b\n\u009b") {
			t.Errorf("%s: got %q, want neither the key nor what steers a terminal", r.Title, text)
		}
	}
}

func TestWithoutWriteNothingIsSentThatCouldChangeAnything(t *testing.T) {
	right := rightHandler(t, 30)
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case "GET", "HEAD", "OPTIONS", "PROPFIND":
		default:
			t.Errorf("got %s %s, want only methods that are safe", r.Method, r.URL)
		}
		if strings.Contains(r.RequestURI, key) || r.ContentLength != 0 {
			t.Errorf("got %s with %d bytes, want no key in it and no body", r.RequestURI, r.ContentLength)
		}
		right.ServeHTTP(w, r)
	}))
	cfg.Write = false
	report := run(t, cfg)
	if got := report.Count(check.Holds); got < 70 || report.Count(check.Fails) > 0 || report.Left != 0 {
		t.Errorf("got %d rules that hold, %d that do not, %d animals, want 70, none and none", got, report.Count(check.Fails), report.Left)
	}
	for _, r := range report.Results {
		if r.Verdict == check.Unchecked && r.Why != "needs --write" && r.Title != never {
			t.Errorf("%s: got it not checked, since it %s, want all that can be read", r.Title, r.Why)
		}
	}
}

func TestACheckThatIsEndedReportsWhatItHasSoFar(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n atomic.Int64
	right := rightHandler(t, 30)
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 60 {
			cancel()
		}
		right.ServeHTTP(w, r)
	}))
	report, err := check.Run(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	holds, fails, rest := report.Count(check.Holds), report.Count(check.Fails), report.Count(check.Unchecked)
	if holds < 10 || fails != 0 || rest < 50 || holds+rest != len(check.Rules()) {
		t.Errorf("got %d, %d and %d rules, want some that hold, none that fails, the rest not checked", holds, fails, rest)
	}
	if last := report.Results[len(report.Results)-1]; last.Why != "the check was ended before" {
		t.Errorf("%s: got %q, want it to say that the check was ended", last.Title, last.Why)
	}
	if report.Requests != 60 {
		t.Errorf("requests: got %d, want 60, none after the end", report.Requests)
	}
}

func TestACheckIsBoundedInRequestsAndRate(t *testing.T) {
	cfg := serve(t, rightHandler(t, 5000))
	if got := run(t, cfg).Requests; got > 400 {
		t.Errorf("requests for 5,000 animals: got %d, want at most 400", got)
	}
	cfg.Write, cfg.Rate, cfg.Only = false, 100, regexp.MustCompile("limit")
	begin := time.Now()
	report := run(t, cfg)
	if least := time.Duration(report.Requests-1) * time.Second / 100; time.Since(begin) < least || report.Requests < 15 {
		t.Errorf("%d requests: got them in %v, want at least %v", report.Requests, time.Since(begin), least)
	}
	for _, r := range report.Results {
		if !strings.Contains(r.Title, "limit") {
			t.Errorf("got rule %q, want only those asked for", r.Title)
		}
	}
}

func TestAServerThatAsksForPatienceGetsSome(t *testing.T) {
	var n atomic.Int64
	right := rightHandler(t, 30)
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 1 {
			wrong(right, nil, func(x *exchange) {
				x.fails(429, "rate_limited")
				x.header.Set("Retry-After", "0")
			}).ServeHTTP(w, r)
			return
		}
		right.ServeHTTP(w, r)
	}))
	cfg.Write = false
	if report := run(t, cfg); report.Count(check.Fails) > 0 {
		t.Errorf("got %q, want all to hold at the second try", of(report, check.Fails))
	}
}

func TestAServerThatHangsOrNeverEndsDoesNotHoldTheCheck(t *testing.T) {
	right := rightHandler(t, 30)
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RawQuery {
		case "limit=0":
			<-r.Context().Done()
		case "limit=101":
			w.WriteHeader(400)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "limit=1.5":
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.(*net.TCPConn).SetLinger(0)
				_ = conn.Close()
			}
		default:
			right.ServeHTTP(w, r)
		}
	}))
	cfg.Write, cfg.Timeout, cfg.Only = false, 4*time.Second, regexp.MustCompile("^Listing: limit")
	want := map[string]string{
		"limit below 1 is 400":            "no response: nothing came within 4s; --timeout allows more",
		"limit above 100 is 400":          "no response: a response of more than 16777216 bytes",
		"limit that is no integer is 400": "no response: .*(reset|EOF)",
	}
	for _, r := range run(t, cfg).Results {
		if matched, _ := regexp.MatchString(want[r.Title], r.Got); want[r.Title] != "" && (r.Verdict != check.Fails || !matched) {
			t.Errorf("%s: got %s, %q, want %q", r.Title, r.Verdict, r.Got, want[r.Title])
		}
	}
}
