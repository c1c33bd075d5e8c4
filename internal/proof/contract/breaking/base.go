package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// base is a document whose clients must not be broken.
type base struct {
	name     string
	document []byte
	released bool // by a tag, so that its list of changes is closed
}

// git runs git in a directory.
type git struct {
	ctx context.Context
	dir string
}

// try returns git's output, and whether git succeeded.
func (g git) try(args ...string) (string, bool) {
	cmd := exec.CommandContext(g.ctx, "git", append([]string{"-C", g.dir}, args...)...)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err == nil
}

// document returns openapi.yaml as it was in a commit.
func (g git) document(commit string) ([]byte, bool) {
	cmd := exec.CommandContext(g.ctx, "git", "-C", g.dir, "show", commit+":./openapi.yaml")
	out, err := cmd.Output()
	return out, err == nil
}

// findBase returns the document that openapi.yaml must not break beside the
// specification: the document of asked, or else of the last release. Where there is
// none it returns nil and why.
func findBase(ctx context.Context, dir, asked string, current []byte) (found *base, why string, err error) {
	g := git{ctx, dir}
	// A tarball unpacked inside another checkout is not that checkout.
	_, tracked := g.try("ls-files", "--error-unmatch", "openapi.yaml")
	switch {
	case asked == "" && !tracked:
		return nil, "git knows no history of it here, as in an unpacked archive", nil
	case asked != "":
		document, ok := g.document(asked)
		if !ok {
			return nil, "", fmt.Errorf("there is no openapi.yaml in %s: name a tag, a branch or a commit of this clone (git fetch --tags fetches more)", asked)
		}
		_, isTag := g.try("show-ref", "--verify", "--quiet", "refs/tags/"+asked)
		return &base{name: asked, document: document, released: isTag}, "", nil
	}
	if b := g.lastTag(current); b != nil {
		return b, "", nil
	}
	if shallow, _ := g.try("rev-parse", "--is-shallow-repository"); shallow == "true" {
		return nil, "this clone is shallow and does not reach a tag; git fetch --unshallow --tags gets them", nil
	}
	return nil, "there is no tag, so nothing has been released", nil
}

// lastTag returns the last release. A document that is itself released by the
// commit at hand is compared with the release before.
func (g git) lastTag(current []byte) *base {
	for from := "HEAD"; ; {
		tag, ok := g.try("describe", "--tags", "--abbrev=0", from)
		if !ok {
			return nil
		}
		document, ok := g.document(tag)
		_, atHEAD := g.try("describe", "--tags", "--exact-match", "HEAD")
		if ok && !(atHEAD && from == "HEAD" && bytes.Equal(document, current)) {
			return &base{name: tag, document: document, released: true}
		}
		from = tag + "^"
	}
}
