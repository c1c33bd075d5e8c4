//go:build thirdparty

package sdk_test

import (
	"os"
	"strings"
	"testing"

	"example.com/petstore/internal/proof/sdk"
)

const key = "a-key-for-the-stories-of-sdks"

// differs lists, a language, which line of the story is another one there.
var differs = map[string]map[string]string{
	// JavaScript reads 2^53 + 1 as 2^53; read as text, further down, it is exact.
	"typescript": {
		"created 1 Frank, category 9007199254740993, pending\n": "created 1 Frank, category 9007199254740992, pending\n",
	},
}

// TestEveryClientTellsTheSameStory has each language's story told to a server
// of its own. Its output and its requests must be the same in all.
func TestEveryClientTellsTheSameStory(t *testing.T) {
	program := build(t)
	story, requests := testdata(t, "story.txt"), testdata(t, "requests.txt")
	for _, l := range sdk.Languages() {
		t.Run(l.Name, func(t *testing.T) {
			shell(t, long, root(t), "make -s -C internal/proof/sdk "+l.Name)
			s := serve(t, "PETSTORE_API_KEYS="+key+" "+program+" serve --store memory:")
			got := shell(t, short, root(t), l.Tell, "BASE_URL="+s.base, "KEY="+key)
			want := story
			for line, instead := range differs[l.Name] {
				if !strings.Contains(want, line) {
					t.Fatalf("the story has no line %q that could differ", line)
				}
				want = strings.Replace(want, line, instead, 1)
			}
			if got != want {
				t.Errorf("story: got\n%swant\n%s", got, want)
			}
			if asked := s.stop(t); asked != requests {
				t.Errorf("requests: got\n%swant\n%s", asked, requests)
			}
		})
	}
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
