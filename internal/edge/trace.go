package edge

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/semconv/v1.26.0"
)

// tracing reports whether the environment names a trace collector. If it does,
// otelecho starts a span for each request.
func tracing() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// startTracing exports spans, as configured by OpenTelemetry's variables such as
// OTEL_EXPORTER_OTLP_ENDPOINT, until stop is called.
func (s *Server) startTracing(ctx context.Context) (stop func(context.Context) error, err error) {
	if !tracing() {
		return func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot export traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		semconv.ServiceName(s.service.Name), semconv.ServiceVersion(s.service.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("cannot export traces: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return provider.Shutdown, nil
}
