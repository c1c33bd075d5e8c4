//go:build thirdparty

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// thirdParty is where third-party/Makefile makes the clients and installs the
// judges.
const thirdParty = "../../../.bin/third-party"

// story is the output of every client.
const story = "created 1 Frank available\nlisted 1 Frank available\ngot 1 Frank available\n"

// client is a language whose clients a target of third-party/Makefile makes.
type client struct {
	language  string
	target    string   // makes the clients
	logs      []string // of their generators
	compilers string   // the commands that compile and run them
	debian    string   // the packages of these commands, and of the libraries
	libraries string   // a command that fails where a library of the system is missing
	compiled  string   // the target that compiles them, where that is a step of its own
	stories   []string // the command lines that list, create and get
}

var clients = []client{
	{
		language: "PHP", target: "php", logs: []string{"php"}, compilers: "php", debian: "php-cli php-curl php-mbstring php-guzzlehttp-guzzle",
		libraries: `php -r 'exit(extension_loaded("curl") && extension_loaded("mbstring") && stream_resolve_include_path("GuzzleHttp/autoload.php") ? 0 : 1);'`,
		stories:   []string{"php ../../internal/proof/conformance/third-party/php/story.php php/lib"},
	},
	{
		language: "Ruby", target: "ruby", logs: []string{"ruby"}, compilers: "ruby", debian: "ruby ruby-typhoeus",
		libraries: "ruby -r typhoeus -e 0",
		stories:   []string{"ruby -I ruby/lib ../../internal/proof/conformance/third-party/ruby/story.rb"},
	},
	{language: "C#", target: "csharp", logs: []string{"csharp"}, compilers: "dotnet"},
	{
		language: "Kotlin", target: "kotlin", logs: []string{"kotlin"}, compilers: "java mvn", debian: "default-jdk-headless maven", compiled: "kotlin-compiled",
		stories: []string{"java -cp 'kotlin/target/classes:kotlin/lib/*' StoryKt"},
	},
	{
		language: "Python", target: "python", logs: []string{"python"}, compilers: "python3", debian: "python3-venv",
		stories: []string{"PYTHONPATH=python venv/bin/python ../../internal/proof/conformance/third-party/python/story.py"},
	},
	{
		language: "Go", target: "go", logs: []string{"go", "ogen"}, compilers: "go", compiled: "go-compiled",
		stories: []string{"go/bin/openapi", "go/bin/ogen"},
	},
	{
		language: "TypeScript", target: "typescript", logs: []string{"typescript-fetch", "hey-api"}, compilers: "node npm", debian: "nodejs npm", compiled: "typescript-compiled",
		stories: []string{"node node/built/fetch.js", "node node/built/heyapi.js"},
	},
	{
		language: "Rust", target: "rust", logs: []string{"rust"}, compilers: "cargo", debian: "cargo", compiled: "rust-compiled",
		stories: []string{"rust/target/debug/openapi", "rust/target/debug/progenitor"},
	},
}

// accepted are the warnings of generators that are no faults of the document.
var accepted = []*regexp.Regexp{
	// It looks for a schema of each of the named examples, of which OpenAPI 3.0
	// allows any number (section 4.7.14), and shows none of them.
	regexp.MustCompile(`Failed to get the schema name: null`),
	// A name of the specification is a word of the language, or another's style.
	regexp.MustCompile(`cannot be used as a [a-z/]+ name\. Renamed to`),
	// RFC 9110 spells WWW-Authenticate so; the case of a name does not matter.
	regexp.MustCompile(`Header name is not canonical.*"WWW-Authenticate"`),
}

func TestThirdPartyClientsCreateListAndGet(t *testing.T) {
	for _, c := range clients { // before minutes of downloads
		if c.libraries != "" && available(c.compilers) && exec.Command("bash", "-c", c.libraries).Run() != nil {
			t.Errorf("%s is here, but not all of its libraries%s", c.language, installs(c.debian))
		}
	}
	if t.Failed() {
		return
	}
	met, made := map[*regexp.Regexp]bool{}, 0
	for _, c := range clients {
		t.Run(c.language, func(t *testing.T) {
			mustMake(t, c.target)
			made++
			if c.compiled != "" && available(c.compilers) {
				mustMake(t, c.compiled)
			}
			for _, name := range c.logs {
				for _, warning := range warnings(t, name) {
					i := slices.IndexFunc(accepted, func(a *regexp.Regexp) bool { return a.MatchString(warning) })
					if i < 0 {
						t.Errorf("%s: got the warning %s, want none, or a reason to accept it", name, warning)
						continue
					}
					met[accepted[i]] = true
				}
			}
			switch {
			case !available(c.compilers):
				fmt.Printf("%s: generated, not compiled: one of %s is not here%s\n", c.language, c.compilers, installs(c.debian))
			case len(c.stories) == 0:
				fmt.Printf("%s: generated, never compiled\n", c.language)
			}
			if !available(c.compilers) {
				return
			}
			for _, line := range c.stories {
				if got := tell(t, line); got != story {
					t.Errorf("%s: got\n%swant\n%s", line, got, story)
				}
				fmt.Printf("%s: %s creates, lists and gets\n", c.language, line)
			}
		})
	}
	for _, a := range accepted {
		if !met[a] && made == len(clients) {
			t.Errorf("accepted warning %s: got none, want it removed from the list", a)
		}
	}
}

func TestThirdPartyJudgesFindNothing(t *testing.T) {
	t.Run("openapi-core", func(t *testing.T) {
		mustMake(t, "openapi-core")
		out := tell(t, "venv/bin/python ../../internal/proof/conformance/third-party/python/responses.py ../../openapi.yaml")
		fmt.Printf("openapi-core: %d responses are the document's\n", strings.Count(out, "\n"))
	})
	t.Run("Dredd", func(t *testing.T) {
		mustMake(t, "node")
		out := tell(t, "cd node && node_modules/.bin/dredd ../../../openapi.yaml $BASE_URL --hookfiles=dredd.js --loglevel=error")
		fmt.Printf("Dredd: %s\n", regexp.MustCompile(`\d+ passing, 0 failing.*`).FindString(out))
	})
	t.Run("Portman", func(t *testing.T) {
		mustMake(t, "node")
		out := tell(t, "cd node && PORTMAN_BEARER_TOKEN=$KEY node_modules/.bin/portman -l ../../../openapi.yaml -b $BASE_URL -c portman.json -o portman.out.json -n")
		if count := strings.Count(out, "✓"); count < 12 {
			t.Errorf("Portman: got %d assertions, want a dozen\n%s", count, out)
		} else {
			fmt.Printf("Portman: %d assertions hold\n", count)
		}
	})
	t.Run("vacuum", func(t *testing.T) {
		if out, err := makes("vacuum"); err != nil {
			fmt.Printf("vacuum: not run, since it cannot be installed here: %s\n", strings.Join(strings.Fields(out), " "))
			return
		}
		tell(t, "bin/vacuum lint --details --no-banner --fail-severity warn ../../openapi.yaml")
		fmt.Println("vacuum: finds nothing")
	})
}

// available reports whether all of the commands are installed.
func available(commands string) bool {
	return !slices.ContainsFunc(strings.Fields(commands), func(name string) bool {
		_, err := exec.LookPath(name)
		return err != nil
	})
}

func installs(debian string) string {
	if debian == "" {
		return ""
	}
	return " (Debian: apt-get install " + debian + ")"
}

// makes makes a target of third-party/Makefile, the first time with downloads.
func makes(target string) (output string, err error) {
	fmt.Printf("making %s\n", target)
	out, err := exec.Command("make", "--silent", "-C", "third-party", target).CombinedOutput()
	return string(out), err
}

func mustMake(t *testing.T, target string) {
	t.Helper()
	if out, err := makes(target); err != nil {
		t.Fatalf("make -C internal/proof/conformance/third-party %s: got %v, want it to succeed\n%s", target, err, out)
	}
}

// warnings returns the lines of a generator's log that are warnings or errors.
func warnings(t *testing.T, name string) (lines []string) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(thirdParty, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if regexp.MustCompile(`^(\[main\] )?(WARN|ERROR)\b`).MatchString(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// tell runs a command line in the folder of third parties, against a service of
// its own, and returns its output.
func tell(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = thirdParty
	cmd.Env = append(os.Environ(), "BASE_URL="+serve(t, "memory:"), "KEY="+key)
	cmd.WaitDelay = time.Second // a program of the shell may hold its output open
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: got %v, want it to succeed\n%s", line, err, out)
	}
	return string(out)
}
