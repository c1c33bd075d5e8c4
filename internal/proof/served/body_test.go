package served_test

import (
	"fmt"
	"strings"
	"testing"
)

// nested returns a pet with an unknown property, so that the body is depth
// levels deep, the object itself included.
func nested(depth int) string {
	return `{"name":"a","categoryId":1,"x":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
}

// padded returns a pet whose body has exactly size bytes.
func padded(size int) string {
	const before, after = `{"categoryId":1,"name":"`, `"}`
	return before + strings.Repeat("x", size-len(before)-len(after)) + after
}

func TestEveryMalformedBodyIsRefusedWithAMessageThatNamesThePlace(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct{ body, message string }{
		"nothing":                        {"", "a body is required"},
		"spaces":                         {" \r\n\t ", "a body is required"},
		"null":                           {"null", "the body must be an object"},
		"an array":                       {"[" + frank + "]", "the body must be an object"},
		"a string":                       {`"Frank"`, "the body must be an object"},
		"a number":                       {"1", "the body must be an object"},
		"true":                           {"true", "the body must be an object"},
		"an empty object":                {"{}", "is required"},
		"no name":                        {`{"categoryId":1}`, "name is required"},
		"no categoryId":                  {`{"name":"a"}`, "categoryId is required"},
		"a name in another case":         {`{"NAME":"a","categoryId":1}`, "name is required"},
		"a null name":                    {`{"name":null,"categoryId":1}`, "name must be"},
		"a number for a name":            {`{"name":1,"categoryId":1}`, "name must be a string"},
		"an object for a name":           {`{"name":{},"categoryId":1}`, "name must be a string"},
		"NUL in the name, escaped":       {`{"name":"a\u0000b","categoryId":1}`, "name must"},
		"NUL in the name, raw":           {"{\"name\":\"a\x00b\",\"categoryId\":1}", "the body"},
		"a line feed in the name, raw":   {"{\"name\":\"a\nb\",\"categoryId\":1}", "the body"},
		"a null categoryId":              {`{"name":"a","categoryId":null}`, "categoryId must be an integer"},
		"a string for categoryId":        {`{"name":"a","categoryId":"1"}`, "categoryId must be an integer"},
		"categoryId 7.0":                 {`{"name":"a","categoryId":7.0}`, "categoryId must be an integer"},
		"categoryId 7.5":                 {`{"name":"a","categoryId":7.5}`, "categoryId must be an integer"},
		"categoryId 1e2":                 {`{"name":"a","categoryId":1e2}`, "categoryId must be an integer"},
		"categoryId 1E0":                 {`{"name":"a","categoryId":1E0}`, "categoryId must be an integer"},
		"categoryId 1e400":               {`{"name":"a","categoryId":1e400}`, "categoryId must be an integer"},
		"categoryId 2^63":                {`{"name":"a","categoryId":9223372036854775808}`, "categoryId must be"},
		"categoryId -2^63-1":             {`{"name":"a","categoryId":-9223372036854775809}`, "categoryId must be"},
		"categoryId of 1000 digits":      {`{"name":"a","categoryId":` + strings.Repeat("9", 1000) + `}`, "categoryId must be"},
		"categoryId 01":                  {`{"name":"a","categoryId":01}`, "the body"},
		"categoryId +1":                  {`{"name":"a","categoryId":+1}`, "the body"},
		"categoryId NaN":                 {`{"name":"a","categoryId":NaN}`, "the body"},
		"a null status":                  {`{"name":"a","categoryId":1,"status":null}`, "status must be one of available, pending, sold"},
		"an empty status":                {`{"name":"a","categoryId":1,"status":""}`, "status must be one of"},
		"an unknown status":              {`{"name":"a","categoryId":1,"status":"lost"}`, "status must be one of"},
		"a status in another case":       {`{"name":"a","categoryId":1,"status":"Sold"}`, "status must be one of"},
		"a number for a status":          {`{"name":"a","categoryId":1,"status":0}`, "status must be one of"},
		"a name twice":                   {`{"name":"a","categoryId":1,"name":"b"}`, `the property "name" twice`},
		"a name twice, once escaped":     {`{"name":"a","categoryId":1,"\u006eame":"b"}`, `the property "name" twice`},
		"an unknown property twice":      {`{"name":"a","categoryId":1,"x":1,"x":1}`, `the property "x" twice`},
		"the same twice, deep inside":    {`{"name":"a","categoryId":1,"x":[{"y":{"z":1,"z":2}}]}`, `the property "z" twice`},
		"a second value":                 {frank + frank, "the body"},
		"trailing garbage":               {frank + "x", "the body"},
		"a trailing NUL":                 {frank + "\x00", "the body"},
		"a trailing comma":               {`{"name":"a","categoryId":1,}`, "the body"},
		"a comment":                      {`{"name":"a","categoryId":1/**/}`, "the body"},
		"single quotes":                  {`{'name':'a','categoryId':1}`, "the body"},
		"an end too early":               {`{"name":"a","categoryId":1`, "the body ends before its JSON does"},
		"a string without end":           {`{"name":"a`, "the body ends before its JSON does"},
		"a byte order mark":              {"\ufeff" + frank, "the body"},
		"UTF-16":                         {"{\x00}\x00", "the body"},
		"invalid UTF-8 in the name":      {"{\"name\":\"\xff\",\"categoryId\":1}", "the body is not valid UTF-8"},
		"overlong UTF-8":                 {"{\"name\":\"\xc0\xaf\",\"categoryId\":1}", "the body is not valid UTF-8"},
		"a surrogate as UTF-8":           {"{\"name\":\"\xed\xa0\x80\",\"categoryId\":1}", "the body is not valid UTF-8"},
		"invalid UTF-8, unknown":         {"{\"name\":\"a\",\"categoryId\":1,\"\xff\":1}", "the body is not valid UTF-8"},
		"a lone high surrogate":          {`{"name":"\ud800","categoryId":1}`, "the body"},
		"a lone low surrogate":           {`{"name":"\udc00","categoryId":1}`, "the body"},
		"surrogates the wrong way round": {`{"name":"\udc00\ud800","categoryId":1}`, "the body"},
		"a lone surrogate, unknown":      {`{"name":"a","categoryId":1,"x":"\ud800"}`, "the body"},
		"10,001 levels":                  {nested(10_001), "the body"},
		"30,000 levels":                  {nested(30_000), "the body"},
	} {
		t.Run(name, func(t *testing.T) {
			s.post(t, c.body).wants(t, 400, "invalid_body", c.message)
			if page := s.get(t, petsPath); strings.TrimSpace(string(page.body)) != "[]" {
				t.Errorf("pets afterwards: got %s, want none", page.body)
			}
		})
	}
}

func TestEveryWellFormedBodyIsAcceptedAndKeptExactly(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct {
		body       string
		name       string
		categoryID int64
		status     string
	}{
		"the least":                    {`{"name":"a","categoryId":1}`, "a", 1, "available"},
		"everything":                   {`{"name":"a","categoryId":1,"status":"sold"}`, "a", 1, "sold"},
		"an empty name":                {`{"name":"","categoryId":1}`, "", 1, "available"},
		"spaces in the name":           {`{"name":"  a ","categoryId":1}`, "  a ", 1, "available"},
		"a name that is not NFC":       {`{"name":"e\u0301","categoryId":1}`, "e\u0301", 1, "available"},
		"noncharacters":                {`{"name":"\uffff\ufffe","categoryId":1}`, "\uffff\ufffe", 1, "available"},
		"U+FFFD itself":                {`{"name":"\ufffd","categoryId":1}`, "\ufffd", 1, "available"},
		"a pair of surrogates":         {`{"name":"\ud83d\udc31","categoryId":1}`, "🐱", 1, "available"},
		"control characters":           {`{"name":"\u0001\n\u007f\u2028","categoryId":1}`, "\u0001\n\u007f\u2028", 1, "available"},
		"HTML":                         {`{"name":"<b>&amp;\"\\/\/","categoryId":1}`, `<b>&amp;"\//`, 1, "available"},
		"escaped property names":       {`{"\u006eame":"a","c\u0061tegoryId":1}`, "a", 1, "available"},
		"the status in another case":   {`{"name":"a","categoryId":1,"STATUS":"bogus"}`, "a", 1, "available"},
		"every name in another case":   {`{"name":"a","categoryId":1,"NAME":"b","CategoryID":2,"categoryid":3}`, "a", 1, "available"},
		"an id of its own":             {`{"id":99,"name":"a","categoryId":1}`, "a", 1, "available"},
		"unknown properties":           {`{"name":"a","categoryId":1,"x":{"y":[null,true]},"":0}`, "a", 1, "available"},
		"numbers in unknown places":    {`{"name":"a","categoryId":1,"x":[7.0,1e2,-0,1e400,9223372036854775808,0.1]}`, "a", 1, "available"},
		"10,000 levels":                {nested(10_000), "a", 1, "available"},
		"whitespace around":            {"\r\n\t " + frank + " \n", "Frank", 1, "available"},
		"categoryId 0":                 {`{"name":"a","categoryId":0}`, "a", 0, "available"},
		"categoryId -0":                {`{"name":"a","categoryId":-0}`, "a", 0, "available"},
		"categoryId -1":                {`{"name":"a","categoryId":-1}`, "a", -1, "available"},
		"categoryId past 2^53":         {`{"name":"a","categoryId":9007199254740993}`, "a", 9007199254740993, "available"},
		"the greatest categoryId":      {`{"name":"a","categoryId":9223372036854775807}`, "a", 9223372036854775807, "available"},
		"the least categoryId":         {`{"name":"a","categoryId":-9223372036854775808}`, "a", -9223372036854775808, "available"},
		"exactly as long as permitted": {padded(65536), strings.Repeat("x", 65536-len(padded(26))), 1, "available"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := s.post(t, c.body)
			resp.wants(t, 201, "", "")
			if resp.StatusCode != 201 {
				return
			}
			p := resp.pet(t)
			if p.Name != c.name || p.CategoryID != c.categoryID || p.Status != c.status {
				t.Errorf("pet: got %.80q %d %s, want %.80q %d %s", p.Name, p.CategoryID, p.Status, c.name, c.categoryID, c.status)
			}
			want := fmt.Sprintf("/v1/pets/%d", p.ID)
			if got := resp.Header.Get("Location"); got != want {
				t.Errorf("Location: got %s, want %s", got, want)
			}
			if again := s.get(t, want); string(again.body) != string(resp.body) {
				t.Errorf("the pet fetched: got %.200s, want %.200s", again.body, resp.body)
			}
		})
	}
}

func TestOnlyPlainJSONIsAccepted(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct {
		header []string
		want   string // "" accepted, else the header that says what would be
	}{
		"as documented":                {[]string{isJSON}, ""},
		"in another case":              {[]string{"Content-Type: Application/JSON; charset=utf-8"}, ""},
		"with a charset":               {[]string{`Content-Type: application/json;charset="UTF-8"`}, ""},
		"with any parameter":           {[]string{"Content-Type: application/json; profile=x"}, ""},
		"with the coding identity":     {[]string{isJSON, "Content-Encoding: Identity"}, ""},
		"without a media type":         {nil, "Accept"},
		"with an empty one":            {[]string{"Content-Type:"}, "Accept"},
		"as text":                      {[]string{"Content-Type: text/plain"}, "Accept"},
		"as JSON of another kind":      {[]string{"Content-Type: application/vnd.api+json"}, "Accept"},
		"as text/json":                 {[]string{"Content-Type: text/json"}, "Accept"},
		"as a form":                    {[]string{"Content-Type: application/x-www-form-urlencoded"}, "Accept"},
		"as anything":                  {[]string{"Content-Type: */*"}, "Accept"},
		"as two media types":           {[]string{isJSON, isJSON}, "Accept"},
		"as a list":                    {[]string{"Content-Type: application/json, text/plain"}, "Accept"},
		"with a broken parameter":      {[]string{"Content-Type: application/json; =x"}, "Accept"},
		"as gzip":                      {[]string{isJSON, "Content-Encoding: gzip"}, "Accept-Encoding"},
		"as gzip, later":               {[]string{isJSON, "Content-Encoding: identity", "Content-Encoding: br"}, "Accept-Encoding"},
		"as an unknown coding":         {[]string{isJSON, "Content-Encoding: x"}, "Accept-Encoding"},
		"as gzip and another type too": {[]string{"Content-Type: text/plain", "Content-Encoding: gzip"}, "Accept"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := s.send(t, "POST", petsPath, frank, append(c.header, withKey)...)
			if c.want == "" {
				resp.wants(t, 201, "", "")
				return
			}
			resp.wants(t, 415, "unsupported_media_type", "")
			for name, value := range map[string]string{"Accept": "application/json", "Accept-Encoding": "identity"} {
				if got := resp.Header.Get(name); name == c.want && got != value {
					t.Errorf("%s: got %q, want %q", name, got, value)
				}
			}
		})
	}
}

func TestABodyOverTheLimitIsRefusedHoweverItIsAnnounced(t *testing.T) {
	s := start(t)
	s.post(t, padded(65537)).wants(t, 413, "payload_too_large", "the body is larger than 65536 bytes")
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 65537, padded(65537))
	s.post(t, chunked, "Transfer-Encoding: chunked").wants(t, 413, "payload_too_large", "larger than 65536")
	chunked = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 65536, padded(65536))
	s.post(t, chunked, "Transfer-Encoding: chunked").wants(t, 201, "", "")
}
