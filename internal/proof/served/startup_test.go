package served_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/gen"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/proof/contract/contracttest"
	"example.com/petstore/internal/proof/petstoretest"
)

// newWith returns the error of putting the pet store together with another document
// or public address.
func newWith(document []byte, publicURL string) error {
	_, err := petstoretest.New(memory.New(), key, func(c *petstoretest.Config) {
		c.Document, c.PublicURL = document, publicURL
	})
	return err
}

func TestNewRefusesADocumentItCannotKeep(t *testing.T) {
	const bearer = "      security:\n        - bearerAuth: []\n"
	for name, c := range map[string]struct{ old, replacement, want string }{
		"that is no YAML":                        {"openapi: 3.0.3", "openapi: [", "openapi.yaml"},
		"that is no OpenAPI":                     {"title: Pet Store", "titel: Pet Store", "openapi.yaml"},
		"an operation without a name":            {"      operationId: listPets\n", "", "it has no operationId"},
		"two operations of one name":             {"operationId: listPets", "operationId: createPet", "createPet"},
		"an operation on HEAD":                   {"    post:\n      operationId: createPet", "    head:\n      operationId: createPet", "an operation must be one of GET, POST, PUT, PATCH, DELETE"},
		"an operation on OPTIONS":                {"    post:\n      operationId: createPet", "    options:\n      operationId: createPet", "an operation must be one of"},
		"an operation on TRACE":                  {"    post:\n      operationId: createPet", "    trace:\n      operationId: createPet", "an operation must be one of"},
		"an operation with optional security":    {bearer, "      security:\n        - bearerAuth: []\n        - {}\n", "security"},
		"an operation with another scheme":       {"scheme: bearer", "scheme: basic", "security"},
		"an operation with an unknown scheme":    {bearer, "      security:\n        - otherAuth: []\n", ""},
		"a key in the query":                     {"      type: http\n      scheme: bearer\n", "      type: apiKey\n      in: query\n      name: key\n", "security"},
		"an operation the router does not have":  {"  /pets/{petId}:\n", "  /pets/all:\n    get:\n      operationId: all\n      responses: {'200': {description: x}}\n\n  /pets/{petId}:\n", "GET /v1/pets/all, which the generated code lacks"},
		"a method the router does not have":      {"    post:\n      operationId: createPet", "    put:\n      operationId: createPet", "the generated code has POST /v1/pets, which the document lacks"},
		"a path the router does not have":        {"  /pets/{petId}:\n", "  /animals/{petId}:\n", "the generated code has GET /v1/pets/:petId, which the document lacks"},
		"a sunset without quotes":                {"x-sunset: '2030-12-05'", "x-sunset: 2030", "x-sunset must be a date in quotes"},
		"a deprecated operation without its end": {"      x-sunset: '2030-12-05'\n", "", "x-sunset must be a date in quotes"},
		"a deprecated operation without a start": {"      x-deprecated-at: '2026-11-21'\n", "", "x-deprecated-at must be a date in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			document := bytes.Replace(gen.Document, []byte(c.old), []byte(c.replacement), 1)
			if bytes.Equal(document, gen.Document) {
				t.Fatalf("openapi.yaml has no %q to spoil", c.old)
			}
			if err := newWith(document, ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("New: got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestNewRefusesABaseThatLinksCannotBeginWith(t *testing.T) {
	for _, base := range []string{"/v1", "/", "pets.example.com/v1", "ftp://pets.example.com/v1", "https://me@pets.example.com/v1", "https://pets.example.com/v1?x", "http://pets\x00/v1", "http://a;b/v1", "http://a,b/v1"} {
		if err := newWith(gen.Document, base); err == nil {
			t.Errorf("New with the public address %q: got no error, want one", base)
		}
	}
}

func TestNewAcceptsSecurityOfTheWholeDocument(t *testing.T) {
	document := bytes.ReplaceAll(gen.Document, []byte("      security:\n        - bearerAuth: []\n"), nil)
	if bytes.Equal(document, gen.Document) {
		t.Fatal("openapi.yaml secures no operation by itself")
	}
	if err := newWith(document, ""); err != nil {
		t.Errorf("New: got %v, want no error", err)
	}
}

func TestTheCodesOfErrorsAreTheOnesTheDocumentLists(t *testing.T) {
	inCode := []string{}
	for path, form := range map[string]string{
		"../../edge/errors.go":          `(?m)^\tcode\w+ += "(\w+)"$`,
		"../../pets/service/problem.go": `return 4\d\d, "(\w+)"`,
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(form).FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(inCode, match[1]) {
				inCode = append(inCode, match[1])
			}
		}
	}
	var documented []string
	for _, codes := range contracttest.NewJudge(t).Codes() {
		documented = append(documented, codes...)
	}
	slices.Sort(inCode)
	slices.Sort(documented)
	if !slices.Equal(inCode, documented) {
		t.Errorf("codes in the code: got %q, want the document's %q", inCode, documented)
	}
}

func TestTheBodyLimitIsTheDocuments(t *testing.T) {
	description := contracttest.NewJudge(t).Document().Paths.Value("/pets").Post.Description
	if want := strconv.Itoa(edge.MaxBody>>10) + " KiB"; !strings.Contains(strings.ReplaceAll(description, "\n", " "), want) {
		t.Errorf("description of createPet: got %q, want it to name %s", description, want)
	}
}
