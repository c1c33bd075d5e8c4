package contracttest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	onePet = `{"id":1,"name":"Frank","categoryId":1,"status":"sold"}`
	no404  = `{"code":"not_found","message":"there is no pet with id 1","status":404}`
	no401  = `{"code":"unauthorized","message":"a valid API key is required","status":401}`
)

// responseTo returns a faultless response, which a test then spoils.
func responseTo(status int, body string) (*http.Response, []byte) {
	h := http.Header{
		"X-Request-Id":           {"1"},
		"X-Content-Type-Options": {"nosniff"},
		"Cache-Control":          {"no-store"},
	}
	if body != "" {
		h.Set("Content-Type", "application/json")
	}
	return &http.Response{StatusCode: status, Header: h}, []byte(body)
}

func announceDeprecation(resp *http.Response) {
	resp.Header.Set("Deprecation", "@1795219200")
	resp.Header.Set("Sunset", "Thu, 05 Dec 2030 00:00:00 GMT")
	resp.Header.Set("Link", `</docs#/pets/getPet>; rel="deprecation"; type="text/html"`)
}

func TestTheJudgeAcceptsWhatTheDocumentPromises(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		body         string
		prepare      func(*http.Response)
	}{
		{"GET", "/v1/pets", 200, "[" + onePet + "]", nil},
		{"HEAD", "/v1/pets", 200, "", func(resp *http.Response) { resp.Header.Set("Content-Type", "application/json") }},
		{"POST", "/v1/pets", 201, onePet, func(resp *http.Response) { resp.Header.Set("Location", "/v1/pets/1") }},
		{"GET", "/v1/pets/%31", 200, onePet, announceDeprecation},
		{"GET", "/v1/pets/1", 404, no404, announceDeprecation},
		{"GET", "/v1/pets", 401, no401, func(resp *http.Response) { resp.Header.Set("WWW-Authenticate", `Bearer realm="petstore"`) }},
		{"GET", "/v1/nothing", 404, no404, nil},
		{"OPTIONS", "/v1/pets", 204, "", func(resp *http.Response) { resp.Header.Set("Allow", "OPTIONS, GET, POST, HEAD") }},
	} {
		response, body := responseTo(c.status, c.body)
		if c.prepare != nil {
			c.prepare(response)
		}
		if err := NewJudge(t).Check(httptest.NewRequest(c.method, c.path, nil), response, body); err != nil {
			t.Errorf("%s %s %d: got %v, want no objection", c.method, c.path, c.status, err)
		}
	}
}

func TestTheJudgeObjects(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, header string // the request
		status               int
		body                 string
		spoil                func(*http.Response)
		want                 string
	}{
		"to an undocumented status":         {method: "GET", path: "/v1/pets", status: 418, body: no404, want: "the status: got 418"},
		"to a 404 of listPets":              {method: "GET", path: "/v1/pets", status: 404, body: no404, want: "the status: got 404"},
		"to a body of another shape":        {method: "GET", path: "/v1/pets", status: 200, body: onePet, want: "doesn't match schema"},
		"to null for no pets":               {method: "GET", path: "/v1/pets", status: 200, body: "null", want: "doesn't match schema"},
		"to an unknown status of a pet":     {method: "GET", path: "/v1/pets", status: 200, body: strings.Replace("["+onePet+"]", "sold", "lost", 1), want: "doesn't match schema"},
		"to a success of another type":      {method: "GET", path: "/v1/pets", status: 200, body: "[]", spoil: set("Content-Type", "text/html"), want: "Content-Type"},
		"to a missing request id":           {method: "GET", path: "/v1/pets", status: 200, body: "[]", spoil: set("X-Request-Id", ""), want: "X-Request-Id"},
		"to another request id":             {method: "GET", path: "/v1/pets", header: "X-Request-Id: mine", status: 200, body: "[]", want: "the client's own"},
		"to a missing nosniff":              {method: "GET", path: "/v1/pets", status: 200, body: "[]", spoil: set("X-Content-Type-Options", ""), want: "nosniff"},
		"to a response that may be kept":    {method: "GET", path: "/v1/pets", status: 200, body: "[]", spoil: set("Cache-Control", "public"), want: "no-store"},
		"to an undocumented header":         {method: "GET", path: "/v1/pets", status: 200, body: "[]", spoil: set("X-Powered-By", "Echo"), want: "X-Powered-By"},
		"to a 201 without Location":         {method: "POST", path: "/v1/pets", status: 201, body: onePet, want: "Location"},
		"to a 201 that points elsewhere":    {method: "POST", path: "/v1/pets", status: 201, body: onePet, spoil: set("Location", "/v1/pets/2"), want: "Location"},
		"to a 401 without a challenge":      {method: "GET", path: "/v1/pets", status: 401, body: no401, want: "WWW-Authenticate"},
		"to a 405 without Allow":            {method: "PUT", path: "/v1/pets", status: 405, body: `{"code":"method_not_allowed","message":"no","status":405}`, want: "Allow"},
		"to an Allow that forgets HEAD":     {method: "OPTIONS", path: "/v1/pets", status: 204, spoil: set("Allow", "OPTIONS, GET, POST"), want: "Allow"},
		"to a 404 for a wrong method":       {method: "PUT", path: "/v1/pets", status: 404, body: no404, want: "got 404, want one of [405]"},
		"to a 503 without Retry-After":      {method: "GET", path: "/v1/pets", status: 503, body: `{"code":"unavailable","message":"later","status":503}`, want: "Retry-After"},
		"to a 415 that says not what":       {method: "POST", path: "/v1/pets", status: 415, body: `{"code":"unsupported_media_type","message":"no","status":415}`, want: "Accept-Encoding"},
		"to a silent deprecation":           {method: "GET", path: "/v1/pets/1", status: 404, body: no404, want: "Sunset of getPet"},
		"to a deprecation of what is not":   {method: "GET", path: "/v1/pets", status: 200, body: "[]", spoil: announceDeprecation, want: "Deprecation of listPets"},
		"to an unexplained deprecation":     {method: "GET", path: "/v1/pets/1", status: 404, body: no404, spoil: func(resp *http.Response) { announceDeprecation(resp); resp.Header.Del("Link") }, want: "Link of getPet"},
		"to an explanation of what is not":  {method: "GET", path: "/v1/pets", status: 200, body: "[]", spoil: announceDeprecation, want: "Link of listPets"},
		"to a body of HEAD":                 {method: "HEAD", path: "/v1/pets", status: 200, body: "[]", want: "want none"},
		"to an Error of another status":     {method: "GET", path: "/v1/x", status: 404, body: strings.Replace(no404, "404", "400", 1), want: "status of the Error"},
		"to an Error without its message":   {method: "GET", path: "/v1/x", status: 404, body: `{"code":"not_found","status":404}`, want: "want an Error"},
		"to an Error with more":             {method: "GET", path: "/v1/x", status: 404, body: strings.Replace(no404, "{", `{"trace":"x",`, 1), want: "want an Error"},
		"to a second value after the Error": {method: "GET", path: "/v1/x", status: 404, body: no404 + no404, want: "nothing after the Error"},
		"to an unlisted code":               {method: "GET", path: "/v1/x", status: 404, body: strings.Replace(no404, "not_found", "gone", 1), want: "code of a 404"},
		"to a code of another status":       {method: "GET", path: "/v1/x", status: 404, body: strings.Replace(no404, "not_found", "internal", 1), want: "code of a 404"},
		"to Go's words":                     {method: "GET", path: "/v1/x", status: 404, body: strings.Replace(no404, "there", "strconv.ParseInt", 1), want: "nothing of the inside"},
		"to a plain text Error":             {method: "GET", path: "/v1/x", status: 404, body: no404, spoil: set("Content-Type", "text/plain"), want: "Content-Type"},
		"to a response at an unknown path":  {method: "GET", path: "/v1/store/orders", status: 200, body: "[]", want: "got 200, want one of [404]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, nil)
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				r.Header.Set(name, value)
			}
			response, body := responseTo(c.status, c.body)
			if c.spoil != nil {
				c.spoil(response)
			}
			err := NewJudge(t).Check(r, response, body)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the judge: got %v, want an objection with %q", err, c.want)
			}
		})
	}
}

func set(name, value string) func(*http.Response) {
	return func(resp *http.Response) { resp.Header.Set(name, value) }
}

func TestTheJudgeObjectsToAConnectionKeptBeforeAnUnreadBody(t *testing.T) {
	r := httptest.NewRequest("POST", "/v1/pets", strings.NewReader("{}"))
	response, body := responseTo(401, no401)
	response.Header.Set("WWW-Authenticate", `Bearer realm="petstore"`)
	if err := NewJudge(t).Check(r, response, body); err == nil || !strings.Contains(err.Error(), "want closed") {
		t.Errorf("the judge: got %v, want an objection", err)
	}
	response.Header.Set("Connection", "close")
	if err := NewJudge(t).Check(r, response, body); err != nil {
		t.Errorf("the judge: got %v, want no objection", err)
	}
}

func TestTheJudgeRemembersWhatItHasNotSeen(t *testing.T) {
	j := NewJudge(t)
	before := strings.Join(j.Unvisited(), "\n")
	response, body := responseTo(200, "[]")
	if err := j.Check(httptest.NewRequest("GET", "/v1/pets", nil), response, body); err != nil {
		t.Fatal(err)
	}
	after := strings.Join(j.Unvisited(), "\n")
	for _, name := range []string{"listPets 200", "200 X-Request-Id"} {
		if !strings.Contains(before, name) || strings.Contains(after, name) {
			t.Errorf("unvisited: got\n%s\nthen\n%s\nwant %q only in the first", before, after, name)
		}
	}
}
