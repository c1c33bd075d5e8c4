package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestTheREADMEHasEveryFlagOfServeWithItsVariableAndDefault(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	serveCommand(world{}).Flags().VisitAll(func(f *pflag.Flag) {
		value := ""
		if f.DefValue != "" {
			value = "`" + f.DefValue + "` "
		}
		want := fmt.Sprintf("| `--%s` | `%s` | %s|", f.Name, variable(f.Name), value)
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md: got no row that begins %s, want one", want)
		}
	})
}
