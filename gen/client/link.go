package client

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// nextPage returns the position in the link to the next page among the values
// of a response's Link headers, nil where there is no such link. It fails where
// the link leads elsewhere than to a position in the list of pets.
func nextPage(headers []string) (*int64, error) {
	for _, h := range headers {
		for _, l := range parseLinks(h) {
			if !l.isNext() {
				continue
			}
			after, err := positionIn(l.target)
			if err != nil {
				return nil, fmt.Errorf("the link to the next page, %q: %w", l.target, err)
			}
			return &after, nil
		}
	}
	return nil, nil
}

func positionIn(target string) (int64, error) {
	u, err := url.Parse(target)
	if err != nil {
		return 0, errors.New("it is no address")
	}
	if path.Base(u.Path) != "pets" {
		return 0, errors.New("it leads to another operation than listPets")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return 0, errors.New("its query is malformed")
	}
	after, err := strconv.ParseInt(query.Get("after"), 10, 64)
	if err != nil {
		return 0, errors.New("it has no position, such as after=120")
	}
	return after, nil
}

// link is one link of a Link header (RFC 8288, section 3). Of its parameters
// the first of each name stands; names are in lower case.
type link struct {
	target string
	params map[string]string
}

// isNext reports whether the link leads from the requested page to the next one. A
// link with an anchor leads from another resource.
func (l link) isNext() bool {
	_, anchored := l.params["anchor"]
	return !anchored && slices.ContainsFunc(strings.Fields(l.params["rel"]), func(rel string) bool {
		return strings.EqualFold(rel, "next")
	})
}

const space = " \t"

// parseLinks reads the value of one Link header (RFC 8288, appendix B.2). It leaves
// out a malformed link and all that follows.
func parseLinks(rest string) (links []link) {
	for {
		rest = strings.TrimLeft(rest, space+",")
		target, after, ok := strings.Cut(rest, ">")
		if !ok || !strings.HasPrefix(target, "<") {
			return links
		}
		l := link{target: target[1:], params: map[string]string{}}
		rest = l.parseParams(after)
		links = append(links, l)
	}
}

// parseParams reads the parameters of a link, which follow its target (appendix
// B.3), and returns the text behind them.
func (l link) parseParams(rest string) string {
	for {
		rest = strings.TrimLeft(rest, space)
		if !strings.HasPrefix(rest, ";") {
			return rest
		}
		rest = strings.TrimLeft(rest[1:], space)
		end := endOf(rest, "=;,")
		name, value := strings.ToLower(strings.TrimRight(rest[:end], space)), ""
		rest = rest[end:]
		if strings.HasPrefix(rest, "=") {
			value, rest = paramValue(strings.TrimLeft(rest[1:], space))
		}
		if _, again := l.params[name]; !again {
			l.params[name] = value
		}
	}
}

// paramValue cuts a token or a quoted string off the front of rest.
func paramValue(rest string) (value, behind string) {
	if !strings.HasPrefix(rest, `"`) {
		end := endOf(rest, ";,")
		return strings.TrimRight(rest[:end], space), rest[end:]
	}
	var unquoted strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			return unquoted.String(), rest[i+1:]
		case c == '\\' && i+1 < len(rest):
			i++
			unquoted.WriteByte(rest[i])
		default:
			unquoted.WriteByte(c)
		}
	}
	return unquoted.String(), ""
}

// endOf returns where the first of the stop characters stands in s, or its length.
func endOf(s, stops string) int {
	if i := strings.IndexAny(s, stops); i >= 0 {
		return i
	}
	return len(s)
}
