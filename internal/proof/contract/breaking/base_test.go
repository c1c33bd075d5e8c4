package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout is a git checkout with documents that only name themselves.
type checkout struct {
	*testing.T
	dir string
}

func newCheckout(t *testing.T) checkout {
	// Inside a git hook these name the checkout the hook runs for.
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, "") // so that it comes back
			os.Unsetenv(name)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	c := checkout{t, t.TempDir()}
	c.git("init", "--quiet", "--initial-branch=main")
	return c
}

func (c checkout) git(args ...string) {
	c.Helper()
	cmd := exec.Command("git", append([]string{"-C", c.dir, "-c", "user.name=A Test", "-c", "user.email=test@example.com"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func (c checkout) write(document string) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "openapi.yaml"), []byte(document), 0o600); err != nil {
		c.Fatal(err)
	}
}

func (c checkout) commit(document string) {
	c.Helper()
	c.write(document)
	c.git("add", ".")
	c.git("commit", "--quiet", "--allow-empty", "--message", document)
}

// clone returns a clone, for which shallow ones want an address, not a path.
func (c checkout) clone(options ...string) checkout {
	c.Helper()
	clone := checkout{c.T, filepath.Join(c.TempDir(), "clone")}
	c.git(append(append([]string{"clone", "--quiet"}, options...), "file://"+c.dir, clone.dir)...)
	return clone
}

// wantBase checks the base with which the document is compared; "" is none.
func (c checkout) wantBase(asked, want string) (b base, why string) {
	c.Helper()
	current, err := os.ReadFile(filepath.Join(c.dir, "openapi.yaml"))
	if err != nil {
		c.Fatal(err)
	}
	found, why, err := findBase(context.Background(), c.dir, asked, current)
	if err != nil {
		c.Fatal(err)
	}
	if found == nil {
		found = &base{}
	}
	if string(found.document) != want {
		c.Errorf("base: got %q (%s), want %q", found.document, found.name, want)
	}
	return *found, why
}

func TestTheLastTagIsTheBase(t *testing.T) {
	c := newCheckout(t)
	c.commit("one")
	c.git("tag", "v1")
	c.commit("two")
	c.git("tag", "--annotate", "--message", "two", "v2")
	c.commit("three")
	c.commit("four")
	if b, _ := c.wantBase("", "two"); !b.released || b.name != "v2" {
		t.Errorf("base: got %+v, want the release v2", b)
	}
	c.clone().wantBase("", "two")
	c.git("checkout", "--quiet", "-b", "branch")
	c.commit("five")
	c.wantBase("", "two")
}

func TestATaggedDocumentIsComparedWithTheReleaseBefore(t *testing.T) {
	c := newCheckout(t)
	c.commit("one")
	c.git("tag", "v1")
	c.commit("two")
	c.git("tag", "v2")
	c.wantBase("", "one")
	c.write("not committed")
	c.wantBase("", "two")
}

func TestWithoutATagNothingHasBeenReleased(t *testing.T) {
	c := newCheckout(t)
	c.commit("one")
	c.commit("two")
	c.git("checkout", "--quiet", "-b", "branch")
	c.commit("three")
	if _, why := c.wantBase("", ""); !strings.Contains(why, "no tag") {
		t.Errorf("why: got %q, want it to say that there is no tag", why)
	}
}

func TestAShallowCloneSaysHowToGetMore(t *testing.T) {
	origin := newCheckout(t)
	origin.commit("one")
	origin.git("tag", "v1")
	origin.commit("two")
	c := origin.clone("--depth=1", "--no-tags")
	if _, why := c.wantBase("", ""); !strings.Contains(why, "git fetch --unshallow --tags") {
		t.Errorf("why: got %q, want it to say how to get the history", why)
	}
	c.git("fetch", "--quiet", "--unshallow", "--tags")
	c.wantBase("", "one")
}

func TestAnUnpackedArchiveHasNoBaseAlsoInsideAnotherCheckout(t *testing.T) {
	outer := newCheckout(t)
	outer.commit("another project's")
	for _, dir := range []string{t.TempDir(), filepath.Join(outer.dir, "archive")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		c := checkout{t, dir}
		c.write("unpacked")
		if _, why := c.wantBase("", ""); !strings.Contains(why, "archive") {
			t.Errorf("why: got %q, want it to say that there is no history", why)
		}
	}
}

func TestAnyCommitMayBeAskedFor(t *testing.T) {
	c := newCheckout(t)
	c.commit("one")
	c.git("tag", "v1")
	c.commit("two")
	c.git("tag", "v2")
	c.commit("three")
	if b, _ := c.wantBase("v1", "one"); !b.released {
		t.Error("released: got false of a tag, want true")
	}
	if b, _ := c.wantBase("HEAD^", "two"); b.released {
		t.Error("released: got true of a commit, want false")
	}
	if _, _, err := findBase(context.Background(), c.dir, "v9", nil); err == nil || !strings.Contains(err.Error(), "no openapi.yaml in v9") {
		t.Errorf("base v9: got %v, want it refused by name", err)
	}
}
