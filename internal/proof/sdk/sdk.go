// Package sdk holds the stories that prove the generated SDKs: the same story in
// every language, each as short as a client team would write it. This folder's
// Makefile makes their clients from openapi.yaml. No part of it is in the service.
package sdk

// Language is a language that has a client and a story.
type Language struct {
	Name      string // of its folder here, and of the target that makes its client
	Title     string
	Fence     string // the name of its code blocks in Markdown
	Story     string // the file, in its folder
	Tell      string // the shell command that tells the story, from the top of the repository
	Generator string // the generator of the client, and the library it rests on
}

// Languages returns all there are.
func Languages() []Language {
	return []Language{
		{
			Name: "go", Title: "Go", Fence: "go", Story: "main.go",
			Tell:      "go run ./internal/proof/sdk/go",
			Generator: "oapi-codegen, with `All`, `Check` and `WithKey` by hand beside it; it is committed, in `gen/client`",
		},
		{
			Name: "typescript", Title: "TypeScript", Fence: "ts", Story: "story.ts",
			Tell:      "node .bin/sdk/typescript/built/story.js",
			Generator: "openapi-typescript makes the types, openapi-fetch sends what they describe",
		},
		{
			Name: "python", Title: "Python", Fence: "python", Story: "story.py",
			Tell:      "PYTHONPATH=.bin/sdk/python .bin/sdk/python/venv/bin/python internal/proof/sdk/python/story.py",
			Generator: "openapi-python-client, on httpx and attrs",
		},
		{
			Name: "java", Title: "Java", Fence: "java", Story: "Story.java",
			Tell:      "java -cp '.bin/sdk/java/target/test-classes:.bin/sdk/java/lib/*' Story",
			Generator: "openapi-generator with the library `native`: java.net.http and Jackson",
		},
	}
}
