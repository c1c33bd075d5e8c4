# Adds the tokens of the chapter "Other credentials", with the page's own code.
. internal/proof/copy/testdata/page.sh

eval "$(sed -n '/^go get .*jwt/p' .github/CONTRIBUTING.md)"
page 'package service' >internal/service/tokens.go
check=$(page 'if s.tokens' | sed 's/$/\\/')
tokens=$(page 'var tokens' | sed 's/$/\\/')
sed -i -e "s/^	keyring    \*keys.Keyring/&\n\ttokens *Tokens/" -e 's/keyring \*keys.Keyring, o edge/keyring *keys.Keyring, tokens *Tokens, o edge/' \
	-e 's/&service{handler, store, keyring}/\&service{handler, store, keyring, tokens}/' \
	-e "/) Authenticate(/a \\${check}
" internal/service/handler.go
sed -i -e "s/NewHandler(observed, keyring, cfg.edge)/NewHandler(observed, keyring, tokens, cfg.edge)/" -e "/NewHandler(observed/i \\${tokens}
" -e 's/^	logFormat       string/&\n\tissuer, audience, keySet string/' \
	-e 's/^	flags := cmd.Flags()/&\n\tflags.StringVar(\&cfg.issuer, "issuer", "", "i")\n\tflags.StringVar(\&cfg.audience, "audience", "", "a")\n\tflags.StringVar(\&cfg.keySet, "key-set", "", "k")/' cmd/petstore/serve.go
sed -i -e 's/\(service.NewHandler(st, .*\), edge.Options/\1, nil, edge.Options/' internal/proof/program/program.go internal/proof/browser/docs_test.go
go mod tidy
gofmt -w internal cmd
