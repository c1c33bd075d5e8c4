// Command stories writes internal/proof/sdk/stories.md from the stories, so that they
// can be read side by side. Run it from the top of the repository: `make sdk` does.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"example.com/petstore/internal/proof/sdk"
)

func main() {
	const dir = "internal/proof/sdk"
	text, err := render(dir)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stories.md"), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}

const opening = `<!-- Written by make sdk from the stories; change those. -->

# One story, four clients

Each client is made from ` + "`openapi.yaml`" + ` by its language's usual generator, and
proved by the same story, told to a server without pets. This is what every one
of them prints:

%s
The one difference is JavaScript's: its numbers are exact below 2^53, so the first
line has category 9007199254740992 there, rounded. Every ` + "`id`" + ` is below 2^53. Keep
your categories there too, or ask ` + "`Number.isSafeInteger`" + `; the story shows how to
send and read a greater one exactly, as text.

` + "`make sdk`" + ` makes the clients and runs the stories. The quick starts are in the
[README](README.md#quick-starts).
`

// render returns the page of the stories in dir.
func render(dir string) (string, error) {
	story, err := os.ReadFile(filepath.Join(dir, "testdata/story.txt"))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, opening, fence("text", story))
	for _, l := range sdk.Languages() {
		code, err := os.ReadFile(filepath.Join(dir, l.Name, l.Story))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "\n## %s\n\n%s: [`%s/%s`](%[3]s/%[4]s)\n\n%s", l.Title, l.Generator, l.Name, l.Story, fence(l.Fence, code))
	}
	return out.String(), nil
}

func fence(language string, text []byte) string {
	return "```" + language + "\n" + string(text) + "```\n"
}
