package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"
)

// requestTimeout limits the work on one request.
const requestTimeout = 8 * time.Second

// serveOperation returns the middleware of one operation: everything that
// happens between the router and the generated code, from top to bottom.
func (s *Server) serveOperation(op *operation) echo.MiddlewareFunc {
	deprecation := op.deprecation.Clone()
	if deprecation != nil {
		deprecation.Set("Link", fmt.Sprintf(`<%s%s>; rel="deprecation"; type="text/html"`, s.docs, anchor(op.route.Operation)))
	}
	return func(generated echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(operationName, op.id)
			if deprecation != nil {
				c.Response().Before(func() {
					header := c.Response().Header()
					for name, values := range deprecation {
						header[name] = append(values, header[name]...) // the generated code may have set Link
					}
				})
			}

			// The work continues if the context of the request is canceled,
			// because net/http also cancels it if the client has closed only
			// its side of the connection.
			r := c.Request()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), requestTimeout)
			defer cancel()
			var caller Caller
			if !op.public {
				var err error
				caller, err = s.authenticate(ctx, r)
				c.Set(callerID, caller.ID)
				if err != nil {
					return err
				}
			}
			if err := s.checkRate(c, caller); err != nil {
				return err
			}
			arrived := time.Now()
			if err := s.calls.acquire(ctx); err != nil {
				s.metrics.shed.WithLabelValues("in_flight").Inc()
				return Unavailable(err)
			}
			running := &call{Caller: caller, server: s}
			defer s.calls.release(running)

			if op.body == nil && r.ContentLength != 0 { // nobody reads the body
				c.Response().Header().Set("Connection", "close")
			} else if op.body != nil && time.Since(arrived) > s.readTimeout-lingerTimeout { // the wait has used its time
				limitBodyWait(c)
			}
			defer c.SetRequest(r) // accessLog checks its context to see whether the client disconnected
			c.SetRequest(r.WithContext(context.WithValue(ctx, callKey{}, running)))
			if err := op.validate(c); err != nil {
				return err
			}
			if err := generated(c); err != nil {
				return err
			}
			if !c.Response().Committed {
				return fmt.Errorf("%s returned neither a response nor an error", op.id)
			}
			return nil
		}
	}
}

// checkRate counts a request against the limit of its API key, or of its
// address if the operation needs no key.
func (s *Server) checkRate(c echo.Context, caller Caller) error {
	if s.rates == nil {
		return nil
	}
	if allowed, _ := s.rates.Allow(cmp.Or(caller.ID, c.RealIP())); allowed {
		return nil
	}
	s.metrics.shed.WithLabelValues("rate").Inc()
	return &Problem{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: "too many requests; try again later", Header: http.Header{"Retry-After": {s.rateRetry}}}
}

// validate checks the parameters against the document. It leaves defaults to the
// service, and the body to binder.
func (op *operation) validate(c echo.Context) error {
	r := c.Request()
	if r.URL.RawPath != "" { // see canonicalPath; from here on, parameters are decoded
		for i, value := range c.ParamValues() {
			c.ParamValues()[i], _ = url.PathUnescape(value)
		}
		r.URL.RawPath = ""
	}
	// QueryParams omits what it cannot parse.
	if _, err := url.QueryUnescape(r.URL.RawQuery); err != nil || strings.Contains(r.URL.RawQuery, ";") {
		return badRequest("invalid_parameter", "the query string is malformed: % must be followed by two hexadecimal digits, and ; must be written as %3B")
	}
	if err := op.checkParameters(c); err != nil {
		return err
	}
	pathParams := make(map[string]string, len(c.ParamNames()))
	for i, name := range c.ParamNames() {
		pathParams[name] = c.ParamValues()[i]
	}
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: pathParams, QueryParams: c.QueryParams(), Route: op.route, Options: filterOptions,
	}
	return requestProblem(openapi3filter.ValidateRequest(r.Context(), input))
}

// binder validates the body.
var filterOptions = &openapi3filter.Options{SkipSettingDefaults: true, ExcludeRequestBody: true}

// requestProblem returns the response to an error of openapi3filter.
func requestProblem(err error) error {
	if err == nil {
		return nil
	}
	failed, ok := errors.AsType[*openapi3filter.RequestError](err)
	switch {
	case !ok || failed.Parameter == nil:
		return err
	case errors.Is(err, openapi3filter.ErrInvalidRequired):
		return parameterProblem(failed.Parameter, failed.Parameter.Name+" is required")
	case errors.Is(err, openapi3filter.ErrInvalidEmptyValue):
		return parameterProblem(failed.Parameter, failed.Parameter.Name+" must not be empty")
	}
	return parameterProblem(failed.Parameter, describe(failed.Err, failed.Parameter.Name))
}
