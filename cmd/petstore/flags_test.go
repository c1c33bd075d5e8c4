package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestServeWarnsOfAMisspeltVariableWithoutItsValue(t *testing.T) {
	var out, said bytes.Buffer
	environ := []string{"PETSTORE_RATELIMIT=hunter2", "PETSTORE_PORT=tcp://10.0.0.1:80", "PETSTORE_KEY=hunter2", "PETSTORE_ADDR=:8080"}
	code := run(context.Background(), environment{
		args: []string{"serve", "--check", "--sandbox"}, stdout: &out, stderr: &said,
		getenv: func(string) string { return "" }, environ: environ,
	})
	log := said.String()
	if code != 0 || strings.Count(log, "WARN") != 1 || !strings.Contains(log, `"variable":"PETSTORE_RATELIMIT","perhaps":"PETSTORE_RATE_LIMIT"`) || strings.Contains(log, "hunter2") {
		t.Errorf("got status %d and %s, want one warning, of PETSTORE_RATELIMIT, without its value", code, log)
	}
}

func TestEveryCommandWarnsOfAMisspeltVariableWithoutItsValue(t *testing.T) {
	var out, said bytes.Buffer
	code := run(context.Background(), environment{
		args: []string{"import", "--dry-run", "-"}, stdin: strings.NewReader("name,categoryId\n"), stdout: &out, stderr: &said,
		getenv: func(string) string { return "" }, environ: []string{"PETSTORE_STROE=sqlite:hunter2.db", "PETSTORE_KEY=hunter2"},
	})
	if want := "petstore: the variable PETSTORE_STROE may be misspelt, perhaps PETSTORE_STORE\n"; code != 0 || !strings.HasPrefix(said.String(), want) || strings.Contains(said.String(), "hunter2") {
		t.Errorf("got status %d and %s, want %s", code, &said, want)
	}
}

func TestNoFlagIsSetByAVariableThatKubernetesInjects(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name := variables.Of(f.Name); variables.Injected(name) {
				t.Errorf("%s --%s: got the variable %s, which Kubernetes injects, want another name", cmd.CommandPath(), f.Name, name)
			}
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(rootCommand(environment{getenv: func(string) string { return "" }}))
}
