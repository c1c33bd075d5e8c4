#!/bin/sh
# Writes what a release contains besides the program to .bin/package: completion for
# bash, the manual page, Debian's changelog for VERSION, the licences of
# everything in the program, and the pages of deploy/ with the files that they copy.
# .bin/data is the image's empty data directory.
set -e
out=.bin/package
rm -rf "$out" .bin/data
mkdir -p "$out" .bin/data
cp -R deploy "$out/deploy"
rm -r "$out/deploy/package" "$out/deploy/systemd"
chmod -R u=rwX,go=rX "$out/deploy"
GOOS='' GOARCH='' CGO_ENABLED=0 go run -trimpath ./cmd/petstore completion bash >"$out/petstore.bash"
for page in petstore petstore-run; do gzip -9nc deploy/package/$page.1 >"$out/$page.1.gz"; done
printf 'petstore (%s) stable; urgency=medium\n\n  * .github/CHANGELOG.md in the source lists the changes.\n\n -- Pet Store maintainers <petstore@example.com>  %s\n' \
	"$VERSION" "$(git log -1 --no-show-signature --format=%cD 2>/dev/null || date -R -r .github/CHANGELOG.md)" | gzip -9n >"$out/changelog.gz"

licenses() { # NAME FOLDER
	find "$2" -maxdepth 1 -type f | grep -iE '/(licen[cs]es?|copying|notice|patents)[^/]*$' | sort | while read -r file; do
		printf '==== %s: %s\n\n' "$1" "$(basename "$file")"
		cat "$file"
		printf '\n\n'
	done
}
for os in linux darwin; do # .Dir is empty if there is a folder vendor
	GOOS=$os CGO_ENABLED=0 go list -buildvcs=false -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{or .Dir (print "vendor/" .Path)}}{{end}}{{end}}' ./cmd/petstore
done >"$out/modules"
{
	licenses Go "$(go env GOROOT)"
	find engine internal -name '*LICENSE*' | sort | while read -r file; do # of scripts that are embedded
		licenses "$file" "$(dirname "$file")"
	done
	sort -u "$out/modules" | while read -r path version dir; do
		licenses "$path $version" "$dir"
	done
} >"$out/THIRD_PARTY_LICENSES.txt"
rm "$out/modules"
