package docs

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// reading is the document as people read it.
type reading struct {
	document []byte // in YAML
	title    string // of the document
	server   string // the address of its first server, or ""
}

// forReading returns the page's own copy of the document: the quick start comes
// first, then each section of the descriptions as an entry of the navigation, then
// the operations. Each operation has its samples, and a deprecated one says so
// beside its name.
func forReading(p Page) (reading, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(p.Document, &doc); err != nil {
		return reading{}, err
	}
	var samples map[string]yaml.Node
	if err := yaml.Unmarshal(p.Samples, &samples); err != nil {
		return reading{}, fmt.Errorf("samples: %w", err)
	}
	root := doc.Content[0]
	info, tags := child(root, "info"), child(root, "tags")
	if tags == nil {
		tags = &yaml.Node{Kind: yaml.SequenceNode}
		set(root, "tags", tags)
	}
	intro, sections := cut(info)
	for _, tag := range tags.Content {
		first, rest := cut(tag)
		set(tag, "description", text(first))
		sections = append(rest, sections...)
	}
	set(info, "description", text(intro+p.QuickStart))
	tags.Content = append(sections, tags.Content...)

	for _, item := range values(child(root, "paths")) {
		for _, o := range values(item) {
			id := child(o, "operationId")
			if id == nil {
				continue // not an operation but, say, parameters
			}
			if s, found := samples[id.Value]; found {
				set(o, "x-codeSamples", &s)
			}
			if err := markDeprecated(o); err != nil {
				return reading{}, fmt.Errorf("%s: %w", id.Value, err)
			}
		}
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return reading{}, err
	}
	if err := e.Close(); err != nil {
		return reading{}, err
	}
	r := reading{document: out.Bytes()}
	if title := child(info, "title"); title != nil {
		r.title = title.Value
	}
	if servers := child(root, "servers"); servers != nil && len(servers.Content) > 0 {
		if url := child(servers.Content[0], "url"); url != nil {
			r.server = url.Value
		}
	}
	return r, nil
}

// heading is a heading of a description, of any rank, with the line's end.
var heading = regexp.MustCompile(`(?m)^#+ (.*)\n`)

// cut returns the first paragraph of a description, and each of its sections as a tag
// of its own: the page's navigation lists tags.
func cut(described *yaml.Node) (intro string, sections []*yaml.Node) {
	d := child(described, "description")
	if d == nil {
		return "", nil
	}
	intro, _, _ = strings.Cut(d.Value, "\n\n")
	found := heading.FindAllStringSubmatchIndex(d.Value, -1)
	for i, at := range found {
		end := len(d.Value)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		sections = append(sections, mapping("name", d.Value[at[2]:at[3]], "description", strings.TrimSpace(d.Value[at[1]:end])+"\n"))
	}
	return strings.TrimSpace(intro) + "\n", sections
}

// markDeprecated puts the end of a deprecated operation beside its name.
func markDeprecated(o *yaml.Node) error {
	if d := child(o, "deprecated"); d == nil || d.Value != "true" {
		return nil
	}
	mark := "deprecated"
	if sunset := child(o, "x-sunset"); sunset != nil {
		day, err := time.Parse(time.DateOnly, sunset.Value)
		if err != nil {
			return err
		}
		mark += ", removed on " + day.Format("2 January 2006")
	}
	if reason := child(o, "x-deprecated-reason"); reason != nil && reason.Value != "" {
		mark += ", " + strings.ToLower(reason.Value[:1]) + strings.TrimSuffix(reason.Value[1:], ".")
	}
	badges := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{mapping("name", mark, "position", "before")}}
	set(o, "x-badges", badges)
	return nil
}

// child returns the value of a mapping's key, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// values returns all values of a mapping.
func values(n *yaml.Node) (all []*yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 1; i < len(n.Content); i += 2 {
		all = append(all, n.Content[i])
	}
	return all
}

// set sets the value of a mapping's key.
func set(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, text(key), value)
}

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

// mapping returns a mapping of these keys and values, in turn.
func mapping(pairs ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range pairs {
		n.Content = append(n.Content, text(s))
	}
	return n
}
