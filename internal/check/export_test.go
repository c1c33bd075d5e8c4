package check

import (
	"context"
	"net/http"
)

// Sent is a request of the rules, as it is sent and as it is shown.
type Sent struct {
	Method, URL string
	Header      http.Header
	Body        string
	HasBody     bool
	Curl        string
}

// EveryRequest judges all rules of cfg and returns their requests.
func EveryRequest(ctx context.Context, cfg Config) (all []Sent) {
	p := newProbe(ctx, cfg, http.DefaultTransport)
	p.watched = []*rule{{every: func(resp *response) (bool, error) {
		r, err := resp.request.http(ctx, cfg.Base.String(), cfg.Key)
		if err != nil {
			return true, err
		}
		r.Header.Del("User-Agent")
		all = append(all, Sent{
			Method: r.Method, URL: r.URL.String(), Header: r.Header,
			Body: resp.request.body, HasBody: resp.request.hasBody, Curl: resp.request.curl(cfg.Base.String()),
		})
		return true, nil
	}}}
	for _, r := range selected(nil) {
		p.judge(r)
	}
	return all
}
