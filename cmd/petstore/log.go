package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"example.com/petstore/internal/edge/logging"
	"example.com/petstore/internal/pets/web"
)

// logConfig is the configuration of the log.
type logConfig struct{ level, format string }

func addLogFlags(flags *pflag.FlagSet, cfg *logConfig) {
	flags.StringVar(&cfg.level, "log-level", "info", "the least level to log: debug (probes too), info, warn or error")
	flags.StringVar(&cfg.format, "log-format", "auto", "how to log: text, json, or auto, which is text at a terminal and json otherwise")
}

// options returns the options of a log on standard error, without the secrets.
func (cfg logConfig) options(env environment, secrets []string) (o logging.Options, err error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[cfg.level]
	if !ok {
		return o, usageError{fmt.Errorf("--log-level %q: give debug, info, warn or error", cfg.level)}
	}
	o = logging.Options{Level: level, Secrets: secrets, KeyPattern: web.KeyPattern}
	switch cfg.format {
	case "auto":
		o.Text = env.stderrIsTerminal
	case "text":
		o.Text = true
	case "json":
	default:
		return o, usageError{fmt.Errorf("--log-format %q: give auto, text or json", cfg.format)}
	}
	return o, nil
}
