package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestTheOperatorsPageHasEveryFlagOfServeWithItsVariableAndDefault(t *testing.T) {
	page, err := os.ReadFile("../../deploy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	serveCommand(environment{}).Flags().VisitAll(func(f *pflag.Flag) {
		value := ""
		if f.DefValue != "" {
			value = "`" + f.DefValue + "` "
		}
		variable := ""
		if name := variables.Of(f.Name); name != "" {
			variable = "`" + name + "` "
		}
		want := fmt.Sprintf("| `--%s` | %s| %s|", f.Name, variable, value)
		if !strings.Contains(string(page), want) {
			t.Errorf("deploy/README.md: got no row that begins %s, want one", want)
		}
	})
}
