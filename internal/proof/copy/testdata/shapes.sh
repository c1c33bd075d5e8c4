# Adds a resource of another shape than a pet, after `guide.sh visits`, for the tests of the contract:
# charts, with a map, an object, instants, defaults, a sort, a change of state and a picture.
set -euo pipefail
cat >paths <<'END'
  /charts:
    get:
      operationId: listCharts
      parameters:
        - {name: limit, in: query, schema: {type: integer, format: int32, minimum: 1, maximum: 50, default: 10}, example: 2}
        - {name: after, in: query, schema: {type: integer, format: int64, minimum: 0}, example: 0}
        - {name: sort, in: query, schema: {type: string, enum: [id, -id], default: id}, example: id}
      responses:
        '200':
          description: A page of charts.
          headers: {Link: {description: The next page., schema: {type: string}}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Charts'}}}
        READ
    post:
      operationId: createChart
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/NewChart'}}}
      responses:
        '201':
          description: The chart as stored.
          headers: {Location: {description: Its address., schema: {type: string}}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Chart'}}}
        WRITE

  /charts/{chartId}:
    parameters: &one
      - {name: chartId, in: path, required: true, schema: {type: integer, format: int64}, example: 1}
    get:
      operationId: getChart
      responses:
        '200': &chart
          description: The chart.
          content: {application/json: {schema: {$ref: '#/components/schemas/Chart'}}}
        '404': &noChart
          description: There is no such chart.
          content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}
        READ
    patch:
      operationId: changeChart
      requestBody:
        required: true
        content: {application/merge-patch+json: {schema: {$ref: '#/components/schemas/ChartPatch'}}}
      responses:
        '200': *chart
        '404': *noChart
        WRITE

  /charts/{chartId}/close:
    parameters: *one
    post:
      operationId: closeChart
      requestBody:
        required: false
        content: {application/json: {schema: {$ref: '#/components/schemas/Closing'}}}
      responses:
        '200': *chart
        '404': *noChart
        '409':
          description: The chart is closed.
          content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}
        WRITE

  /charts/{chartId}/picture:
    parameters: *one
    get:
      operationId: getPicture
      responses:
        '200':
          description: The picture.
          content: {image/png: {schema: {type: string, format: binary}}}
        '404': *noChart
        READ
    put:
      operationId: putPicture
      requestBody:
        required: true
        content:
          image/*: {schema: {type: string, format: binary}}
          text/plain: {schema: {type: string, maxLength: 20, example: none}}
      responses:
        '204': {description: The picture was set.}
        '404': *noChart
        WRITE

END
cat >READ <<'END'
        '400': {$ref: '#/components/responses/InvalidParameter'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '500': {$ref: '#/components/responses/Internal'}
        '503': {$ref: '#/components/responses/Unavailable'}
        default: {$ref: '#/components/responses/Unexpected'}
END
cat >WRITE <<'END'
        '400': {$ref: '#/components/responses/InvalidBody'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '413': {$ref: '#/components/responses/PayloadTooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '500': {$ref: '#/components/responses/Internal'}
        '503': {$ref: '#/components/responses/Unavailable'}
        default: {$ref: '#/components/responses/Unexpected'}
END
cat >schemas <<'END'
    NewChart:
      type: object
      required: [title]
      properties:
        title: {x-order: 1, type: string, example: weight}
        unit: {x-order: 2, type: string, enum: [kg, lb], default: kg, example: lb}
        doses: {x-order: 3, type: object, maxProperties: 3, additionalProperties: {type: integer, example: 5}, example: {a: 1}}
        author: {x-order: 4, type: object, properties: {name: {type: string, example: Ann}}, example: {name: Ann}}
        seenAt: {x-order: 5, type: string, format: date-time, example: '2026-11-21T10:00:00Z'}

    ChartPatch:
      type: object
      properties:
        title: {x-order: 1, type: string, example: weight}
        unit: {x-order: 2, type: string, nullable: true, enum: [kg, lb, null], default: kg, example: lb}
        doses: {x-order: 3, type: object, nullable: true, maxProperties: 3, additionalProperties: {type: integer, nullable: true, example: 5}, example: {a: 1}}

    Closing:
      type: object
      properties:
        reason: {x-order: 1, type: string, example: healed}

    Chart:
      type: object
      required: [id, title, unit, changedAt, closedAt]
      properties:
        id: {x-order: 1, type: integer, format: int64, example: 1}
        title: {x-order: 2, type: string, example: weight}
        unit: {x-order: 3, type: string, enum: [kg, lb], example: kg}
        doses: {x-order: 4, type: object, additionalProperties: {type: integer}, example: {a: 1}}
        author: {x-order: 5, type: object, properties: {name: {type: string}}, example: {name: Ann}}
        seenAt: {x-order: 6, type: string, format: date-time, example: '2026-11-21T10:00:00Z'}
        changedAt: {x-order: 7, type: string, format: date-time, example: '2026-11-21T10:00:00Z'}
        closedAt: {x-order: 8, type: string, format: date-time, nullable: true, example: '2026-11-21T10:00:00Z'}
        reason: {x-order: 9, type: string, example: healed}

    Charts:
      type: array
      maxItems: 50
      items: {$ref: '#/components/schemas/Chart'}

END
sed -i -e '/^        READ$/{r READ
d}' -e '/^        WRITE$/{r WRITE
d}' paths
sed -i -e '/^components:/e cat paths' -e '/^    Error:$/e cat schemas' openapi.yaml
rm paths schemas READ WRITE
make generate
cat >internal/service/charts.go <<'END'
package service

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"sync"
	"time"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/pets"
)

// chart is an immutable version of a chart.
type chart struct {
	api.Chart
	picture []byte
}

var charts = struct {
	sync.Mutex
	all map[*operations][]*chart // the index is the identifier less one
}{all: map[*operations][]*chart{}}

// change replaces a chart by what f makes of a copy, unless f fails.
func (o *operations) change(id int64, f func(*chart) error) (*chart, error) {
	charts.Lock()
	defer charts.Unlock()
	if id < 1 || id > int64(len(charts.all[o])) {
		return nil, fault.New(fault.NotFound, fmt.Sprintf("there is no chart with id %d", id))
	}
	c := *charts.all[o][id-1]
	if err := f(&c); err != nil {
		return nil, err
	}
	charts.all[o][id-1] = &c
	return &c, nil
}

func (o *operations) CreateChart(_ context.Context, request api.CreateChartRequestObject) (api.CreateChartResponseObject, error) {
	b := request.Body
	charts.Lock()
	defer charts.Unlock()
	c := api.Chart{ID: int64(len(charts.all[o])) + 1, Title: b.Title, Unit: api.ChartUnit(valueOr(b.Unit, "kg")), Doses: b.Doses, SeenAt: b.SeenAt, ChangedAt: time.Now().UTC()}
	if b.Author != nil {
		c.Author = &struct {
			Name *string `json:"name,omitempty"`
		}{b.Author.Name}
	}
	c.ClosedAt.SetNull()
	charts.all[o] = append(charts.all[o], &chart{c, nil})
	location := fmt.Sprint(o.base, "/charts/", c.ID)
	return api.CreateChart201JSONResponse{Body: c, Headers: api.CreateChart201ResponseHeaders{Location: &location}}, nil
}

func (o *operations) ListCharts(_ context.Context, request api.ListChartsRequestObject) (api.ListChartsResponseObject, error) {
	charts.Lock()
	defer charts.Unlock()
	p := request.Params
	limit, sort, step, last := valueOr(p.Limit, 10), valueOr(p.Sort, "id"), 1, int64(len(charts.all[o]))
	at := int(valueOr(p.After, 0))
	if sort == "-id" {
		step = -1
		if at = int(min(valueOr(p.After, last+1), last+1)) - 2; at == -2 {
			at = -1
		}
	}
	response := api.ListCharts200JSONResponse{Body: api.Charts{}}
	for ; at >= 0 && at < int(last); at += step {
		if len(response.Body) == int(limit) {
			link := fmt.Sprintf(`<%s/charts?limit=%d&sort=%s&after=%d>; rel="next"`, o.base, limit, sort, charts.all[o][at-step].ID)
			if p.Sort == nil {
				link = fmt.Sprintf(`<%s/charts?limit=%d&after=%d>; rel="next"`, o.base, limit, charts.all[o][at-step].ID)
			}
			response.Headers.Link = &link
			break
		}
		response.Body = append(response.Body, charts.all[o][at].Chart)
	}
	return response, nil
}

func (o *operations) GetChart(_ context.Context, request api.GetChartRequestObject) (api.GetChartResponseObject, error) {
	c, err := o.change(request.ChartID, func(*chart) error { return nil })
	if err != nil {
		return nil, err
	}
	return api.GetChart200JSONResponse(c.Chart), nil
}

func (o *operations) ChangeChart(_ context.Context, request api.ChangeChartRequestObject) (api.ChangeChartResponseObject, error) {
	b := request.Body
	c, err := o.change(request.ChartID, func(c *chart) error {
		c.Title, c.ChangedAt = valueOr(b.Title, c.Title), time.Now().UTC()
		if b.Unit.IsSpecified() {
			c.Unit = "kg"
			if unit, err := b.Unit.Get(); err == nil {
				c.Unit = api.ChartUnit(unit)
			}
		}
		if b.Doses.IsNull() {
			c.Doses = nil
		}
		if changes, err := b.Doses.Get(); err == nil {
			doses := maps.Clone(valueOr(c.Doses, map[string]int{}))
			for name, dose := range changes {
				if delete(doses, name); dose != nil {
					doses[name] = *dose
				}
			}
			c.Doses = &doses
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return api.ChangeChart200JSONResponse(c.Chart), nil
}

func (o *operations) CloseChart(_ context.Context, request api.CloseChartRequestObject) (api.CloseChartResponseObject, error) {
	c, err := o.change(request.ChartID, func(c *chart) error {
		if !c.ClosedAt.IsNull() {
			return fault.New(pets.Conflict, "the chart is closed")
		}
		c.ClosedAt.Set(time.Now().UTC())
		if request.Body != nil {
			c.Reason = request.Body.Reason
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return api.CloseChart200JSONResponse(c.Chart), nil
}

func (o *operations) PutPicture(_ context.Context, request api.PutPictureRequestObject) (api.PutPictureResponseObject, error) {
	var picture image.Image
	if request.TextBody != nil {
		picture = image.NewGray(image.Rect(0, 0, len(*request.TextBody)+1, 1))
	} else {
		var err error
		if picture, _, err = image.Decode(request.Body); err != nil {
			return nil, fault.New(fault.InvalidBody, "the body must be a picture")
		}
	}
	_, err := o.change(request.ChartID, func(c *chart) error {
		var buf bytes.Buffer
		defer func() { c.picture = buf.Bytes() }()
		return png.Encode(&buf, picture)
	})
	if err != nil {
		return nil, err
	}
	return api.PutPicture204Response{}, nil
}

func (o *operations) GetPicture(_ context.Context, request api.GetPictureRequestObject) (api.GetPictureResponseObject, error) {
	c, err := o.change(request.ChartID, func(c *chart) error {
		if c.picture == nil {
			return fault.New(fault.NotFound, "the chart has no picture")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return api.GetPicture200ImagePngResponse{Body: io.NopCloser(bytes.NewReader(c.picture)), ContentLength: int64(len(c.picture))}, nil
}
END
cat >internal/proof/contract/charts.go <<'END'
package contract

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"strings"
	"testing"
)

func (s *suite) charts(t *testing.T) {
	var made response
	for i := range 12 {
		body := encode(object{"title": fmt.Sprint(i), "doses": object{"a": i, "b": 1e3}, "author": object{"name": "Ann"}})
		made = s.try(t, testCase{send: "POST /v1/charts", body: body, want: "201"})
	}
	location := made.Header.Get("Location")
	patch := "PATCH " + location + "\nContent-Type: application/merge-patch+json"
	var small, large bytes.Buffer
	_ = png.Encode(&small, image.NewGray(image.Rect(0, 0, 1, 1)))
	_ = gif.Encode(&large, image.NewGray(image.Rect(0, 0, 9, 9)), nil)
	for _, c := range []testCase{
		{send: "POST /v1/charts", body: encode(object{"title": odd, "unit": "lb", "doses": object{}, "author": object{"name": odd}, "seenAt": "1970-01-01T00:00:00Z"}), want: "201"},
		{send: "POST /v1/charts", body: encode(object{"title": long, "unit": "kg", "doses": object{"a": 1, "b": 2, "c": 3}, "author": object{"name": long}, "seenAt": "2026-11-21T10:00:00+02:00"}), want: "201"},
		{send: "GET /v1/charts?limit=1", want: "200"},
		{send: "GET /v1/charts?limit=50", want: "200"},
		{send: "GET /v1/charts?after=0", want: "200"},
		{send: "GET /v1/charts?after=3", want: "200"},
		{send: "GET /v1/charts?sort=id", want: "200"},
		{send: "GET /v1/charts?sort=-id", want: "200"},
		{send: "GET /v1/charts/0", want: "404 not_found"},
		{send: patch, body: encode(object{"title": odd, "unit": "lb"}), want: "200"},
		{send: patch, body: encode(object{"title": long, "unit": nil}), want: "200"},
		{send: patch, body: `{"doses":{"b":null,"c":7}}`, want: "200"},
		{send: patch, body: `{"doses":{"a":1,"b":2,"c":3}}`, want: "200"},
		{send: patch, body: `{"doses":{}}`, want: "200"},
		{send: patch, body: `{"doses":null}`, want: "200"},
		{send: strings.Replace(patch, location, "/v1/charts/0", 1), body: "{}", want: "404 not_found"},
		{send: "POST /v1/charts/0/close", want: "404 not_found"},
		{send: "POST /v1/charts/1/close", want: "200"},
		{send: "POST /v1/charts/1/close", want: "409 conflict"},
		{send: "POST /v1/charts/2/close", body: encode(object{"reason": odd}), want: "200"},
		{send: "POST /v1/charts/3/close", body: encode(object{"reason": long}), want: "200"},
		{send: "GET /v1/charts/1/picture", want: "404 not_found"},
		{send: "PUT /v1/charts/0/picture\nContent-Type: text/plain", body: "x", want: "404 not_found"},
		{send: "PUT /v1/charts/1/picture\nContent-Type: text/plain", body: strings.Repeat("é", 20), want: "204"},
		{send: "PUT /v1/charts/1/picture\nContent-Type: text/plain", body: "\U0010ffff\x01\r", want: "204"},
		{send: "PUT /v1/charts/1/picture\nContent-Type: image/png", body: small.String(), want: "204"},
		{send: "PUT /v1/charts/2/picture\nContent-Type: image/gif", body: large.String(), want: "204"},
		{send: "GET /v1/charts/2/picture", want: "200"},
	} {
		s.try(t, c)
	}
	s.once(t, "POST "+location+"/close", 409, func() string { return "" })
}
END
sed -i 's/^	t.Run("Lists".*/\tt.Run("Charts", s.charts)\n&/' internal/proof/contract/contract.go
gofmt -w internal
