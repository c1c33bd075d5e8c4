#!/bin/sh
# Builds the packages for this machine in .bin/dist from the program in .bin, as
# .goreleaser.yaml describes them.
set -e
sh deploy/package/prepare.sh
mkdir -p .bin/dist
{
	printf 'name: petstore\narch: %s\nversion: %s\nversion_schema: none\n' "$(go env GOARCH)" "$(sh deploy/package/version.sh)"
	awk '/^[a-z]/ { on = $1 == "nfpms:"; next } on' .goreleaser.yaml | sed -e 's/^  - /    /' -e 's/^    //' \
		-e '/^\(formats\|bindir\|mtime\|file_name_template\):/d' -e 's|^contents:|&\n  - {src: .bin/petstore, dst: /usr/bin/petstore}|'
} >.bin/nfpm.yaml
for format in deb rpm; do
	go run "$1" package --config .bin/nfpm.yaml --packager "$format" --target .bin/dist
done
