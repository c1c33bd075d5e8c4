package internal

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/memory"
)

// TestClients checks that the programs which "make sdk" runs send each required property.
func TestClients(t *testing.T) {
	programs := strings.Split(text(".github/CLIENTS.md"), "\n## ")[1:]
	programs = append(programs, text("internal/proof/sdk/Main.java"))
	capital := regexp.MustCompile(`[A-Z]`)
	for _, property := range example.OpenAPI().Components.Schemas["NewPet"].Value.Required {
		sent := regexp.MustCompile(`(?i)\b` + capital.ReplaceAllString(property, "_?$0") + `"?[:=(]`)
		for _, program := range programs {
			isProgram := strings.Contains(program, "PETSTORE_KEY")
			assert.True(t, !isProgram || sent.MatchString(program), "CLIENTS.md: got no %s in %s", property, program)
		}
	}
}

// TestPages checks that the files, tests, make targets, flags and metrics that pages name exist.
func TestPages(t *testing.T) {
	source, makefile := strings.Join(slices.Collect(maps.Values(product())), "\n"), text("Makefile")
	inProgram := func(name string) bool { return strings.Contains(source, `"`+name+`"`) }
	flags, suffix := regexp.MustCompile(`--[a-z-]+`), regexp.MustCompile(`_(count|bucket|sum)$`)
	pages := matching(`^(\.github/|deploy/.*|engine/.*|internal/.*)?[^/]*\.md$|^deploy/.*(prometheus/|/alerts)`)
	tests := strings.Join(slices.Collect(maps.Values(matching(`_test\.go$`))), "\n")
	leads := func(page, link string) bool {
		name, anchor, _ := strings.Cut(link, "#")
		if name != "" {
			page = path.Join(path.Dir(page), name)
		}
		return removed(name) || exists(page) && (anchor == "" || slices.Contains(anchors(pages[page]), anchor))
	}
	for _, c := range []struct {
		kind, pattern string // the first group is a name
		exists        func(page, name string) bool
	}{
		{"link", `\]\(([^:)]+)\)`, leads},
		{"runbook", `runbook_url: file:///usr/share/` + service.Name + `/(\S+)`, func(_, link string) bool {
			return leads("deploy/README.md", link)
		}},
		{"file", "`((?:cmd|deploy|engine|gen|internal|\\.\\w+)/[^` ]*)`", func(_, name string) bool { return exists(name) || removed(name) }},
		{"declaration", "`(\\w+` in\\s+`engine/example/[^`]+\\.go)`", func(_, name string) bool {
			name, file, _ := strings.Cut(strings.Join(strings.Fields(name), " "), "` in `")
			return regexp.MustCompile(`(?m)^(func (\(.*?\) )?|type |\t)` + name + `\b`).MatchString(text(file))
		}},
		{"test", "`(Test\\w+)`", func(_, name string) bool { return strings.Contains(tests, "func "+name+"(") }},
		{"target", "`make ([a-z-]+)", func(_, name string) bool { return strings.Contains(makefile, "\n"+name+":") }},
		{"flag in", "(`--[^`]*|" + service.Name + " [a-z][^`\n]*)", func(page, command string) bool {
			missing := func(flag string) bool { return !inProgram(flag[2:]) }
			generators := page == ".github/CLIENTS.md" // it has their flags
			return generators || !slices.ContainsFunc(flags.FindAllString(command, -1), missing)
		}},
		{"metric", service.Name + `_(\w+)`, func(_, name string) bool {
			return inProgram(suffix.ReplaceAllString(name, "")) || removed(name) || name == "serve" // a role of PostgreSQL
		}},
	} {
		found := 0
		for page, text := range pages {
			for _, m := range regexp.MustCompile(c.pattern).FindAllStringSubmatch(text, -1) {
				found++
				assert.True(t, c.exists(page, m[1]), "%s: there is no %s %s", page, c.kind, m[1])
			}
		}
		assert.Positive(t, found, "pages: a %s that matches %s", c.kind, c.pattern)
	}
}

// anchors returns those of a page: its own, and those that GitHub makes of its headings.
func anchors(page string) (all []string) {
	for _, m := range regexp.MustCompile(`<a id="([^"]+)"></a>`).FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	punctuation := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// removed reports whether a name has the word of an optional part that is gone; see COPY.md.
func removed(name string) bool {
	parts := []string{"internal/store/postgres", "internal/store/sqlite", "internal/proof/contract/schemathesis"}
	return slices.ContainsFunc(parts, func(part string) bool {
		return strings.Contains(name, path.Base(part)) && !exists(part)
	})
}

// TestReadme checks that README.md has the operations of the document, and commands that the service accepts.
func TestReadme(t *testing.T) {
	page, count := text("README.md"), 0
	for path, item := range example.OpenAPI().Paths.Map() {
		for method, o := range item.Operations() {
			deprecated := map[bool]string{true: ", deprecated[^|]*"}[o.Deprecated]
			row := fmt.Sprintf("\n\\| `%s`%s \\| `%s %s[?` ]", o.OperationID, deprecated, method, regexp.QuoteMeta(path))
			assert.True(t, regexp.MustCompile(row).MatchString(page), "README.md: got no row of an operation that matches %q", row)
			count++
		}
	}
	rows := regexp.MustCompile("\n\\| `\\w+`[^|]* \\| `[A-Z]+ /").FindAllString(page, -1)
	assert.Len(t, rows, count, "README.md: operations")

	s := httptest.NewServer(program.NewHandler(memory.New(), nil))
	defer s.Close()
	commands := regexp.MustCompile(`(?s)\$ curl .*?(-d '([^']*)' )?'?http://[^/]+([^'\s]+)`)
	for _, m := range commands.FindAllStringSubmatch(page, -1) {
		method := http.MethodGet
		if m[1] != "" {
			method = http.MethodPost
		}
		status, got, err := program.Send(t.Context(), s.Client(), method, s.URL+m[3], m[2])
		assert.True(t, err == nil && status < 300, "README.md: %s: got %d %s, error %v", m[0], status, got, err)
	}
}

// number returns the number that a file has in the group of a pattern, or 0 if the file was removed.
func number(t *testing.T, file, pattern string) int {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text(file))
	require.True(t, m != nil || removed(file), "%s: got nothing that matches %s", file, pattern)
	n, _ := strconv.Atoi(strings.Join(m[min(1, len(m)):], ""))
	return n
}

// TestLimits checks the limits of the service on pages. Those of nginx are higher, so that the service answers itself.
func TestLimits(t *testing.T) {
	size, names, seconds := service.MaxBody>>10, pets.MaxPageText>>10, service.Timeout.Seconds()
	page, image, nginx, compose := "deploy/README.md", "deploy/Dockerfile", "deploy/proxy/nginx.conf", "deploy/postgres/compose.yaml"
	unit, pod := "deploy/systemd/"+service.Name+".service", "deploy/postgres/kubernetes/"+service.Name+".yaml"
	header := number(t, "engine/server/server.go", `headerTimeout += (\d+) \* time.Second`)
	drain := number(t, "cmd/"+service.Name+"/serve.go", `"drain", (\d+)\*time.Second`)
	stop := number(t, "cmd/"+service.Name+"/main.go", `stopTime = (\d+) \* time.Second`)
	rate := number(t, nginx, `rate=(\d+)r/s`)
	line := number(t, "internal/proof/deploy/testdata/nginx.sh", `wc -L <"\$log"\)" -lt (\d+)`)
	half := func(operation string) int { return 500 / number(t, "README.md", `(\d+) µs for a `+operation) }
	heap := func(file, memory string) int { return number(t, file, memory) * 5 / 8 }
	for _, c := range []struct{ file, want string }{
		{"openapi.yaml", fmt.Sprintf("larger than %d KiB", size)},
		{"openapi.yaml", fmt.Sprintf("up to %d KiB long", size)},
		{"openapi.yaml", fmt.Sprintf("its names to %d KiB", names)},
		{"openapi.yaml", "at least 24 hours"}, // as storetest
		{"openapi.yaml", "up to 10 s later"},
		{"openapi.yaml", "knew 10 s before"},
		{"engine/db/postgres/retry.go", "callTimeout = 10 * time.Second"}, // a pet appears in time
		{"README.md", fmt.Sprintf("reach %d KiB", names)},
		{page, fmt.Sprintf("| body | %d KiB", size)},
		{page, fmt.Sprintf("| work on a request | %v s", seconds)},
		{page, fmt.Sprintf("| the header must arrive within | %d s", header)},
		{page, fmt.Sprintf("| draining after SIGTERM (`--drain`) | %d s; the process ends within %d s more", drain, stop)},
		{page, fmt.Sprintf("send %d requests per second", rate)},
		{page, fmt.Sprintf("after %v s, they get a 500 or 503", seconds+7)},
		{page, fmt.Sprintf("%d GB per day", 1+rate*86400*line/1e9)},
		{page, fmt.Sprintf("%d,000 that get a pet, %d,000 that create one, %d,000 that list", half("get"), half("create"), half("list"))},
		{page, fmt.Sprintf("may use %d MiB", number(t, unit, `MemoryMax=(\d+)M`))},
		{page, fmt.Sprintf("GOMEMLIMIT=%dMiB", heap(page, `--memory (\d+)m`))},
		{image, fmt.Sprintf("GOMEMLIMIT=%dMiB", heap(image, `--memory (\d+)m`))},
		{unit, fmt.Sprintf("GOMEMLIMIT=%dMiB", heap(unit, `MemoryMax=(\d+)M`))},
		{compose, fmt.Sprintf("GOMEMLIMIT: %dMiB", heap(compose, `mem_limit: (\d+)m`))},
		{pod, fmt.Sprintf("GOMEMLIMIT\n              value: %dMiB", heap(pod, `limits:\s+memory: (\d+)Mi`))},
		{pod, "livenessProbe:\n            httpGet:\n              path: /livez"},
		{pod, "readinessProbe:\n            httpGet:\n              path: /readyz"},
		{unit, fmt.Sprintf("within --drain (%d s) plus %d s", drain, stop)},
		{nginx, fmt.Sprintf("the %d s of --drain", drain)},
		{nginx, fmt.Sprintf("client_max_body_size %dm;", size>>10+1)},
		{nginx, fmt.Sprintf("proxy_read_timeout %vs;", seconds+7)},
	} {
		ok := strings.Contains(text(c.file), c.want) || removed(c.file)
		assert.True(t, ok, "%s: got no %q, want the limit of the service", c.file, c.want)
	}
	id := example.OpenAPI().Components.Schemas["Pet"].Value.Properties["id"].Value
	ok := !id.Type.Is("integer") || id.Max != nil && *id.Max == pets.MaxID
	assert.True(t, ok, "openapi.yaml: got another maximum of id, want %d", pets.MaxID)
	for file, afterDrain := range map[string]int{
		unit:    number(t, unit, `TimeoutStopSec=(\d+)s`) - drain,
		compose: number(t, compose, `stop_grace_period: (\d+)s`) - drain,
		pod:     number(t, pod, `terminationGracePeriodSeconds: (\d+)`) - number(t, pod, `_DRAIN\s+value: (\d+)s`),
	} {
		ok := afterDrain > stop || removed(file)
		assert.True(t, ok, "%s: got %d s to stop after the drain, want more than %d", file, afterDrain, stop)
	}
}

// TestLimitsOfValues checks that no limit is taken out of the document: the suite tests only those that are there.
func TestLimitsOfValues(t *testing.T) {
	limit := regexp.MustCompile(`pattern: .*|(multipleOf|(exclusive)?[Mm](ax|in)(imum|Items|Length|Properties)): *[^,}\n]+`)
	got := strings.Join(limit.FindAllString(text("openapi.yaml"), -1), "\n") + "\n"
	assert.Equal(t, text("internal/limits.txt"), got, "limits.txt, and the limits of openapi.yaml")
}
