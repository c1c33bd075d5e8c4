// Command steps names the next step of a change that begins in openapi.yaml: of each
// operation and each property the first that is missing, in a sentence. It reads the
// files as text, and so names the step also where the program does not build. `make
// check` runs it first.
package main

import (
	"fmt"
	"os"
)

func main() {
	missing, err := next(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(1)
	}
	for _, sentence := range missing {
		fmt.Fprintln(os.Stderr, sentence)
	}
	if len(missing) > 0 {
		os.Exit(1)
	}
}
