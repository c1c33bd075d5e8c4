package check

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// keyVariable stands for the API key in requests until they are sent, and in every
// text that is shown.
const keyVariable = "$PETSTORE_KEY"

const bearer = "Bearer " + keyVariable

// request is a request of a rule, and how the rule shows it.
type request struct {
	method, target string // target is the part after the base address
	header         [][2]string
	body           string
	hasBody        bool
	shell          string // a command that prints the body, where it is too long to be shown
	zeros          int    // the length of a header of zeros; 0 for none
}

// get, post and the like send the key; anonymous takes it away.
func get(target string) request { return send("GET", target) }

func send(method, target string) request {
	return request{method: method, target: target, header: [][2]string{{"Authorization", bearer}}}
}

// post adds an animal.
func post(body string) request {
	return send("POST", "/pets").with("Content-Type", "application/json").withBody(body)
}

func (r request) withBody(body string) request {
	r.body, r.hasBody = body, true
	return r
}

// madeBy names the command that prints the body.
func (r request) madeBy(shell string) request {
	r.shell = shell
	return r
}

// padded adds spaces to the body until it has so many bytes.
func (r request) padded(size int) request {
	spaces := size - len(r.body)
	shell := fmt.Sprintf("printf '%s%%%ds' ''", octal(r.body), spaces)
	return r.withBody(r.body + strings.Repeat(" ", spaces)).madeBy(shell)
}

// with adds a header.
func (r request) with(name, value string) request {
	r.header = append(r.header[:len(r.header):len(r.header)], [2]string{name, value})
	return r
}

// heavy adds a header of that many bytes.
func (r request) heavy(size int) request {
	r.zeros = size
	return r
}

// without removes a header.
func (r request) without(name string) request {
	var rest [][2]string
	for _, h := range r.header {
		if h[0] != name {
			rest = append(rest, h)
		}
	}
	r.header = rest
	return r
}

func (r request) anonymous() request { return r.without("Authorization") }

// as replaces the credentials.
func (r request) as(authorization ...string) request {
	r = r.anonymous()
	for _, a := range authorization {
		r = r.with("Authorization", a)
	}
	return r
}

// http returns the request for net/http, with the key in it.
func (r request) http(ctx context.Context, base, key string) (*http.Request, error) {
	target := strings.ReplaceAll(r.target, keyVariable, url.QueryEscape(key))
	h, err := http.NewRequestWithContext(ctx, r.method, base+target, nil)
	if err != nil {
		return nil, err
	}
	if r.hasBody {
		withBody, err := http.NewRequestWithContext(ctx, r.method, base+target, strings.NewReader(r.body))
		if err != nil {
			return nil, err
		}
		h = withBody
	}
	h.Header.Set("User-Agent", "petstore-check")
	for _, f := range r.header {
		h.Header.Add(f[0], strings.ReplaceAll(f[1], keyVariable, key))
	}
	if r.zeros > 0 {
		h.Header.Set(heavyHeader, strings.Repeat("0", r.zeros))
	}
	return h, nil
}

const heavyHeader = "X-Petstore-Check"

// curl returns a line for a POSIX shell that sends the request with curl. The
// key is the shell's $PETSTORE_KEY.
func (r request) curl(base string) string {
	var line strings.Builder
	if r.hasBody && (r.shell != "" || !printable(r.body)) {
		command := r.shell
		if command == "" {
			command = "printf '" + octal(r.body) + "'"
		}
		line.WriteString(command + " | ")
	}
	line.WriteString("curl -sS -g")
	switch {
	case r.method == http.MethodHead:
		line.WriteString(" -I")
	case r.method == http.MethodGet, r.method == http.MethodPost && r.hasBody:
		line.WriteString(" -i")
	default:
		line.WriteString(" -i -X " + r.method)
	}
	typed := false
	for _, f := range r.header {
		typed = typed || f[0] == "Content-Type"
		line.WriteString(" -H " + quoted(headerLine(f[0], f[1])))
	}
	if r.zeros > 0 {
		fmt.Fprintf(&line, ` -H "%s: $(printf %%0%dd 0)"`, heavyHeader, r.zeros)
	}
	if r.hasBody {
		if !typed {
			line.WriteString(" -H 'Content-Type:'") // curl would send one of its own
		}
		if strings.Contains(line.String(), " | ") {
			line.WriteString(" --data-binary @-")
		} else {
			line.WriteString(" --data-binary " + quoted(r.body))
		}
	}
	return line.String() + " " + quoted(base+escaped(r.target))
}

// escaped percent-encodes the bytes of a server's link that are not plain ASCII.
func escaped(target string) string {
	var b strings.Builder
	for i := range len(target) {
		if c := target[i]; c > ' ' && c <= '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// headerLine is a header as curl takes it: one without a value ends in ";".
func headerLine(name, value string) string {
	if value == "" {
		return name + ";"
	}
	return name + ": " + value
}

// quoted quotes s for a POSIX shell, which must expand the key's variable only.
func quoted(s string) string {
	if strings.Contains(s, keyVariable) {
		rest := strings.ReplaceAll(s, keyVariable, "\x00")
		rest = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$", `\$`).Replace(rest)
		return `"` + strings.ReplaceAll(rest, "\x00", keyVariable) + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// printable reports whether a terminal shows s as it is. A leading @ would be
// a file to curl.
func printable(s string) bool {
	return !strings.HasPrefix(s, "@") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// octal writes s as printf's format, with every byte that is not plain ASCII as
// an octal escape.
func octal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '%':
			b.WriteString("%%")
		case c < ' ', c > '~', c == '\\', c == '\'':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
