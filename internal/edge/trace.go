package edge

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/semconv/v1.26.0"
)

// tracing reports whether the environment names a trace collector.
func tracing() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// traceRequests starts a span for each request, which otelhttp names after the
// method and the Pattern.
func traceRequests() echo.MiddlewareFunc {
	middleware := echo.WrapMiddleware(otelhttp.NewMiddleware(""))
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		next = middleware(next)
		return func(c echo.Context) error {
			c.Request().Pattern = c.Path()
			return next(c)
		}
	}
}

// startTracing exports spans, as OpenTelemetry's variables say, until stop is called.
func (s *Server) startTracing(ctx context.Context) (stop func(context.Context) error, err error) {
	if !tracing() {
		return func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	about, err2 := resource.New(ctx, resource.WithAttributes(
		semconv.ServiceName(s.options.Name), semconv.ServiceVersion(s.options.Version)), resource.WithFromEnv())
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("cannot export traces: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	otel.SetTracerProvider(provider)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { s.logger.Warn("traces", "error", err) }))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return provider.Shutdown, nil
}
