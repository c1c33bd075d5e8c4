package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"
)

// requestTimeout bounds the work on one request.
const requestTimeout = 8 * time.Second

// serveOperation returns the middleware of one operation: everything that
// happens between the router and the generated code, from top to bottom.
func (s *Server) serveOperation(op *operation) echo.MiddlewareFunc {
	return func(generated echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(operationName, op.id)
			maps.Copy(c.Response().Header(), op.deprecation)

			var caller Caller
			if !op.public {
				var err error
				caller, err = s.authenticate(c.Request())
				c.Set(callerID, caller.ID)
				if err != nil {
					return err
				}
			}
			if err := s.checkRate(cmp.Or(caller.ID, c.RealIP())); err != nil {
				return err
			}

			ctx, cancel := context.WithTimeout(context.WithValue(c.Request().Context(), callerKey{}, caller), requestTimeout)
			defer cancel()
			release, err := s.calls.acquire(ctx, s.service.Weight(c.QueryParams()))
			if err != nil {
				s.metrics.shed.WithLabelValues("in_flight").Inc()
				return unavailable(err)
			}
			defer release()

			r := c.Request()
			if op.body == nil && r.ContentLength != 0 && r.ProtoMajor == 1 {
				abandonBody(c) // nobody reads it
			}
			defer c.SetRequest(r) // whose context tells the log whether the client left
			c.SetRequest(r.WithContext(ctx))
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

// checkRate counts a request of an API key, or of an address where no key is
// needed.
func (s *Server) checkRate(sender string) error {
	if s.rates == nil {
		return nil
	}
	if allowed, _ := s.rates.Allow(sender); allowed {
		return nil
	}
	s.metrics.shed.WithLabelValues("rate").Inc()
	return &Problem{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: "too many requests; try again later", Header: http.Header{"Retry-After": {"1"}}}
}

// validate checks the request against the document. It does not apply
// defaults, which are the service's.
func (op *operation) validate(c echo.Context) error {
	r := c.Request()
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest("invalid_parameter", "the query string is malformed: % must be followed by two hexadecimal digits, and ; be written as %3B")
	}
	if err := op.checkTexts(c, query); err != nil {
		return err
	}
	if op.body != nil && (r.ContentLength != 0 || op.route.Operation.RequestBody.Value.Required) {
		if err := op.checkMediaType(r.Header); err != nil {
			return err
		}
		if r.ContentLength > maxBody {
			return payloadTooLarge()
		}
		// The filter closes the body, which net/http would take as a reason
		// to read the rest of it.
		r.Body = io.NopCloser(http.MaxBytesReader(c.Response().Writer, r.Body, maxBody))
	}
	pathParams := make(map[string]string, len(c.ParamNames()))
	for i, name := range c.ParamNames() {
		pathParams[name] = c.ParamValues()[i]
	}
	err = openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: pathParams, QueryParams: query, Route: op.route, Options: filterOptions,
	})
	return requestProblem(err)
}

var filterOptions = &openapi3filter.Options{SkipSettingDefaults: true}

// requestProblem makes a 400 of an error of openapi3filter.
func requestProblem(err error) error {
	if err == nil {
		return nil
	}
	failed, ok := errors.AsType[*openapi3filter.RequestError](err)
	switch {
	case !ok:
		return err
	case failed.Parameter == nil:
		return bodyProblem(err)
	case errors.Is(err, openapi3filter.ErrInvalidRequired):
		return parameterProblem(failed.Parameter, failed.Parameter.Name+" is required")
	}
	return parameterProblem(failed.Parameter, describe(failed.Err, failed.Parameter.Name))
}
