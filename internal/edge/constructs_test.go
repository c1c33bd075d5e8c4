package edge

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"example.com/petstore/internal/edge/constructs"
	"example.com/petstore/internal/edge/constructs/api"
)

// The tests of this file send requests through the whole edge, generated code
// included, for the document of every construct that works.

// recorder is the service of that document: it keeps the last request as the
// generated code hands it to a method.
type recorder struct {
	http.Handler
	api.StrictServerInterface
	request any
}

func newRecorder(t testing.TB) *recorder {
	t.Helper()
	r := &recorder{}
	cfg := config(constructs.Document)
	cfg.Authenticate = func(context.Context, string) (Identity, error) { return Identity{ID: "key"}, nil }
	cfg.Operations = registering(func(routes *router, base string) {
		api.RegisterHandlersWithBaseURL(routes, api.NewStrictHandler(r, []api.StrictMiddlewareFunc{r.record}), base)
	})
	e, err := newEdge(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Handler = e
	return r
}

// record stands between the generated code and the methods, of which it calls
// one.
func (r *recorder) record(next api.StrictHandlerFunc, operationID string) api.StrictHandlerFunc {
	return func(c echo.Context, request any) (any, error) {
		r.request = request
		if operationID == "CreateOrders" {
			return next(c, request)
		}
		return nil, c.NoContent(http.StatusNoContent)
	}
}

// CreateOrders returns the orders as they came.
func (r *recorder) CreateOrders(_ context.Context, request api.CreateOrdersRequestObject) (api.CreateOrdersResponseObject, error) {
	return api.CreateOrders201JSONResponse(*request.Body), nil
}

// send sends a request whose first line is "GET /path", with header lines and a
// body after it.
func (r *recorder) send(t testing.TB, line, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r.request = nil
	method, target, _ := strings.Cut(line, " ")
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer an-api-key")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, request)
	return w
}

// delivery is a request, and the request object that its method gets.
type delivery struct {
	name, line, body string
	header           []string
	want             string // as JSON
}

// wantDelivered sends each request and compares the object.
func wantDelivered(t *testing.T, deliveries []delivery) {
	t.Helper()
	r := newRecorder(t)
	for _, c := range deliveries {
		t.Run(c.name, func(t *testing.T) {
			line := strings.NewReplacer(`"`, "%22", `{`, "%7B", `}`, "%7D").Replace(c.line)
			w := r.send(t, line, c.body, c.header...)
			if w.Code != http.StatusNoContent && w.Code != http.StatusCreated {
				t.Fatalf("response: got %d %s, want a success", w.Code, w.Body)
			}
			got, err := json.Marshal(r.request)
			if err != nil {
				t.Fatal(err)
			}
			if sorted(t, string(got)) != sorted(t, c.want) {
				t.Errorf("the method's request: got %s, want %s", got, c.want)
			}
		})
	}
}

func TestPathsReachTheMethodAsTheyWereSent(t *testing.T) {
	wantDelivered(t, []delivery{
		{
			"a path of plain values", "GET /path/simple/word/red,green/-7/2024-02-29/6F9619FF-8B86-D011-B42D-00CF4FC964FF", "", nil,
			`{"word":"word","words":["red","green"],"whole":-7,"day":"2024-02-29","id":"6f9619ff-8b86-d011-b42d-00cf4fc964ff"}`,
		},
		{
			"an encoded path", "GET /path/simple/w%2Frd%25%31/light%20blue/2147483647/2024-02-29/6F9619FF-8B86-D011-B42D-00CF4FC964FF", "", nil,
			`{"word":"w/rd%1","words":["light blue"],"whole":2147483647,"day":"2024-02-29","id":"6f9619ff-8b86-d011-b42d-00cf4fc964ff"}`,
		},
	})
}

func TestQueriesReachTheMethodAsTheyWereSent(t *testing.T) {
	wantDelivered(t, []delivery{
		{"no scalars", "GET /query/scalars", "", nil, `{"Params":{}}`},
		{"an operation's parameter in place of its path's", "GET /query/scalars?page=20&shared=1", "", nil, `{"Params":{"page":20,"shared":1}}`},
		{
			"numbers", "GET /query/scalars?int32=-5&int64=9007199254740993&number=0.5&float=1.5e3&double=0.29&level=2&share=1.0", "", nil,
			`{"Params":{"int32":-5,"int64":9007199254740993,"number":0.5,"float":1500,"double":0.29,"level":2,"share":1}}`,
		},
		{
			"texts", "GET /query/scalars?text=%C3%A9%F0%9F%90%B1abc&flag=false&date=2024-02-29&dateTime=2024-02-29T23:59:59.5%2B01:00&uuid=00000000-0000-0000-0000-000000000000&email=a@example.com&byte=%2B/8=&password=x&colour=light+blue&all=red", "", nil,
			`{"Params":{"text":"é🐱abc","flag":false,"date":"2024-02-29","dateTime":"2024-02-29T23:59:59.5+01:00","uuid":"00000000-0000-0000-0000-000000000000","email":"a@example.com","byte":"+/8=","password":"x","colour":"light blue","all":"red"}}`,
		},

		{"one item", "GET /query/arrays?tags=aa", "", nil, `{"Params":{"tags":["aa"]}}`},
		{
			"arrays", "GET /query/arrays?tags=aa&commas=1,2&tags=b,b&colours=red,light+blue&days=2024-02-29&days=2024-03-01&moments=2024-02-29T00:00:00Z&ids=6f9619ff-8b86-d011-b42d-00cf4fc964ff,00000000-0000-0000-0000-000000000000&flags[]=true&flags%5B%5D=false", "", nil,
			`{"Params":{"tags":["aa","b,b"],"commas":[1,2],"colours":["red","light blue"],"days":["2024-02-29","2024-03-01"],"moments":["2024-02-29T00:00:00Z"],"ids":["6f9619ff-8b86-d011-b42d-00cf4fc964ff","00000000-0000-0000-0000-000000000000"],"flags[]":[true,false]}}`,
		},

		{
			"a deep object", "GET /query/objects?filter[colour]=red&filter%5Bleast%5D=9007199254740993&filter[ratio]=0.5&filter[since]=2024-02-29&filter[until]=2024-02-29T00:00:00Z&filter[open]=true", "", nil,
			`{"Params":{"filter":{"colour":"red","least":9007199254740993,"open":true,"ratio":0.5,"since":"2024-02-29","until":"2024-02-29T00:00:00Z"}}}`,
		},
		{
			"a deep object with unknown and odd properties", "GET /query/objects?filter[colour]=red&filter[x]=1&filter[colour][y]=2&filter[[least]]=3&filter[least=4&filter[]=5&filter[Colour]=6&filter=7", "", nil,
			`{"Params":{"filter":{"colour":"red"}}}`,
		},
		{"a deep object of unknown properties alone", "GET /query/objects?filter[x]=1&filter[colour=red", "", nil, `{"Params":{}}`},
	})
}

func TestHeadersReachTheMethodAsTheyWereSent(t *testing.T) {
	wantDelivered(t, []delivery{
		{
			"headers", "GET /headers", "",
			[]string{"X-Whole: 7", "x-texts: a,b c", "X-Wholes: 1,2", "X-Day: 2024-02-29", "X-Moment: 2024-02-29T00:00:00Z", "X-Id: 6f9619ff-8b86-d011-b42d-00cf4fc964ff", "X-Bytes: +/8=", "X-Flag: true"},
			`{"Params":{"X-Whole":7,"X-Texts":["a","b c"],"X-Wholes":[1,2],"X-Day":"2024-02-29","X-Moment":"2024-02-29T00:00:00Z","X-Id":"6f9619ff-8b86-d011-b42d-00cf4fc964ff","X-Bytes":"+/8=","X-Flag":true}}`,
		},
		{"DELETE with a header", "DELETE /crates/7", "", []string{"X-Reason: ten chars!"}, `{"crateId":7,"Params":{"X-Reason":"ten chars!"}}`},
	})
}

func TestBodiesReachTheMethodAsTheyWereSent(t *testing.T) {
	const order = `{"when":"2026-11-21T10:00:00Z","amount":5`
	wantDelivered(t, []delivery{
		{
			"a body that is an array, and an array in the query", "POST /store/orders?tags=a&tags=b", `[` + order + `}]`, nil,
			`{"Params":{"tags":["a","b"]},"Body":[{"amount":5,"when":"2026-11-21T10:00:00Z"}]}`,
		},
		{
			"every property", "POST /store/orders", `[` + order + `,"secret":"s","day":"2024-02-29","note":"abcde","code":"ABC","price":0.29,"ratio":0.25,"mail":"a@example.com","id2":"6f9619ff-8b86-d011-b42d-00cf4fc964ff","data":"+/8=","flag":true,"tags":["a","b"],"grid":[[1,2],[]],"colour":"red","level":3,"share":0.5,"yes":true,"part":{"name":"p","parts":[{"name":"q","size":9007199254740993}]},"inline":{"x":1},"other":[1e400]}]`, nil,
			`{"Params":{},"Body":[{"amount":5,"code":"ABC","colour":"red","data":"+/8=","day":"2024-02-29","flag":true,"grid":[[1,2],[]],"id2":"6f9619ff-8b86-d011-b42d-00cf4fc964ff","inline":{"x":1},"level":3,"mail":"a@example.com","note":"abcde","part":{"name":"p","parts":[{"name":"q","size":9007199254740993}]},"price":0.29,"ratio":0.25,"secret":"s","share":0.5,"tags":["a","b"],"when":"2026-11-21T10:00:00Z","yes":true}]}`,
		},
		{"a body that is a number", "PUT /whole", `9007199254740993`, nil, `{"Body":9007199254740993}`},
		{"a body that is a text", "PUT /text", `"light blue"`, nil, `{"Body":"light blue"}`},
	})
}

func TestComposedAndNullBodiesReachTheMethodAsTheyWereSent(t *testing.T) {
	wantDelivered(t, []delivery{
		{"nothing of what may be null", "PATCH /crates/1", `{}`, nil, `{"crateId":1,"Body":{}}`},
		{
			"null", "PATCH /crates/1", `{"name":null,"size":null,"day":null,"part":null,"list":null,"hole":[1,null],"colour":null}`, nil,
			`{"crateId":1,"Body":{"colour":null,"day":null,"hole":[1,null],"list":null,"name":null,"part":null,"size":null}}`,
		},
		{
			"values of what may be null", "PATCH /crates/1", `{"name":"a","size":9007199254740993,"day":"2024-02-29","part":{"name":"b","NAME":"z"},"list":[1],"colour":"red"}`, nil,
			`{"crateId":1,"Body":{"colour":"red","day":"2024-02-29","list":[1],"name":"a","part":{"name":"b"},"size":9007199254740993}}`,
		},

		{
			"maps", "POST /maps", `{"free":{"a":[1.5,"x",null,{"b":true}]},"none":{"a":1},"counts":{"x":9007199254740993},"parts":{"p":{"name":"n","NAME":"z"}},"mixed":{"name":"n","NAME":3,"part":{"name":"b","Name":"z"}},"anything":[{"k":"v"}]}`, nil,
			`{"Body":{"anything":[{"k":"v"}],"counts":{"x":9007199254740993},"free":{"a":[1.5,"x",null,{"b":true}]},"mixed":{"NAME":3,"name":"n","part":{"name":"b"}},"none":{"a":1},"parts":{"p":{"name":"n"}}}}`,
		},
		{"oneOf", "POST /one", `{"kind":"cat","lives":9,"LIVES":7,"part":{"name":"n","Name":"z"}}`, nil, `{"Body":{"kind":"cat","lives":9,"part":{"name":"n"}}}`},
		{"oneOf, with properties of the other one", "POST /one", `{"kind":"cat","lives":3,"bark":"yes","friend":{"kind":"nothing"}}`, nil, `{"Body":{"kind":"cat","lives":3}}`},
		{"oneOf within oneOf, with properties of the other one", "POST /one", `{"kind":"dog","bark":true,"lives":"x","friend":{"kind":"cat","lives":1,"bark":7}}`, nil, `{"Body":{"kind":"dog","bark":true,"friend":{"kind":"cat","lives":1}}}`},
		{"oneOf, the other one", "POST /one", `{"kind":"dog","bark":true,"friend":{"kind":"cat","lives":1}}`, nil, `{"Body":{"kind":"dog","bark":true,"friend":{"kind":"cat","lives":1}}}`},
		{"anyOf", "POST /any", `{"phone":"1","Phone":"2"}`, nil, `{"Body":{"phone":"1"}}`},
		{"anyOf, and a wrong property of the other one", "POST /any", `{"phone":"1","mail":"nobody"}`, nil, `{"Body":{"phone":"1"}}`},
		{"anyOf, both", "POST /any", `{"phone":"1","mail":"a@example.com"}`, nil, `{"Body":{"phone":"1","mail":"a@example.com"}}`},
		{"a discriminator without a mapping, and properties of the other one", "POST /implied", `{"kind":"Cat","lives":1,"size":"x","extra":1}`, nil, `{"Body":{"kind":"Cat","lives":1}}`},
		{"a discriminator without a mapping", "POST /implied", `{"kind":"Beside","size":1,"extra":"e","EXTRA":"z"}`, nil, `{"Body":{"kind":"Beside","size":1,"extra":"e"}}`},
		{
			"a body without a name", "POST /inline", `{"host":"a.example","v4":"192.0.2.1","v6":"2001:db8::1","uri":"urn:x","ref":"../x","guest":{"kind":"dog","bark":true,"BARK":1},"colour":"red","free":{"a":[1]},"any":[1.0,{"b":2}]}`, nil,
			`{"Body":{"any":[1,{"b":2}],"colour":"red","free":{"a":[1]},"host":"a.example","guest":{"kind":"dog","bark":true},"ref":"../x","uri":"urn:x","v4":"192.0.2.1","v6":"2001:db8::1"}}`,
		},
		{"allOf", "POST /all", `{"kind":"dog","name":"Rex","bark":false,"friend":{"kind":"dog","bark":true}}`, nil, `{"Body":{"bark":false,"friend":{"bark":true,"kind":"dog"},"kind":"dog","name":"Rex"}}`},
	})
}

// sorted returns the same JSON with its properties in order.
func sorted(t testing.TB, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	data, _ := json.Marshal(value)
	return string(data)
}

func TestAMemberOfAUnionReachesTheMethodAsItWasChecked(t *testing.T) {
	r := newRecorder(t)
	r.send(t, "POST /one", `{"kind":"cat","lives":9,"LIVES":1,"part":{"name":"n","size":9007199254740993}}`)
	request, ok := r.request.(api.PostOneRequestObject)
	if !ok {
		t.Fatalf("request: got %T, want one of postOne", r.request)
	}
	value, err := request.Body.ValueByDiscriminator()
	cat, ok := value.(api.Cat)
	if err != nil || !ok || cat.Lives != 9 || cat.Part == nil || *cat.Part.Size != 9007199254740993 {
		t.Errorf("the creature: got %#v (%v), want a cat of 9 lives", value, err)
	}
}

func TestNullIsToldFromAbsent(t *testing.T) {
	r := newRecorder(t)
	r.send(t, "PATCH /crates/1", `{"name":null}`)
	request := r.request.(api.PatchCrateRequestObject)
	if !request.Body.Name.IsNull() || request.Body.Size.IsSpecified() {
		t.Errorf("name and size: got %v and %v, want null and absent", request.Body.Name, request.Body.Size)
	}
}

func TestAResponseOfTheGeneratedCodeIsSent(t *testing.T) {
	r := newRecorder(t)
	w := r.send(t, "POST /store/orders", `[{"when":"2026-11-21T10:00:00Z","amount":5,"price":1e2}]`)
	if want := `[{"amount":5,"price":100,"when":"2026-11-21T10:00:00Z"}]`; strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("body: got %s, want %s", w.Body, want)
	}
}
