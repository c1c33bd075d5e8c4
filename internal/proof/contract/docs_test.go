package contract

func init() {
	docs = []testCase{
		{send: "GET /docs", noKey: true, want: "200", says: "<html", header: "Content-Type: text/html.*\nContent-Security-Policy: .*default-src.*"},
		{send: "GET /\nAccept: text/html", noKey: true, want: "302", header: "Location: .*/docs"},
		{send: "GET /\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", noKey: true, want: "302"},
		{send: "GET /\nAccept: */*", noKey: true, want: "404 not_found", says: "/docs"},
		{send: "POST /docs", noKey: true, want: "405 method_not_allowed", header: "Allow: OPTIONS, GET, HEAD"},
	}
}
