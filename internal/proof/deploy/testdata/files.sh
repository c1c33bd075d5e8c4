# Checks the files of deploy/ with the program for each kind, and builds packages in the folder
# $1, which is empty. TestFiles runs it with bash -e.
promtool test rules deploy/*/alerts_test.yml
for file in deploy/*/alerts.yml; do [ "$(grep -c 'alert: ' "$file")" = "$(grep -c 'runbook_url: ' "$file")" ]; done
# The texts of the log in the tables of symptoms are in the program, but for those of systemd and PostgreSQL.
sed -nE 's/^\|[^|]*\|([^|]+)\|[^|]*\|$/\1/p' deploy/*.md deploy/*/*.md | grep -oE '`[^`]+`' |
	sed -E 's/ *….*|[`"]|\([0-9]+\)//g; s/.*://; s/^ +| +$//g' | grep -vx 'code=killed\|oom-kill\|Failed at step CREDENTIALS\|too many connections for role\|No space left on device' | while read -r text; do
	grep -qF -e "$text" .bin/petstore deploy/systemd/*
done
awk '/^```yaml/ { on = 1; next } /^```/ { on = 0 } on' deploy/README.md | sed "s|/usr/share/petstore|$PWD/deploy|" >"$1/prometheus.yml"
promtool check config "$1/prometheus.yml"

cp deploy/systemd/petstore* "$1"
sed -i "s|/usr/bin/petstore |$PWD/.bin/petstore |" "$1"/petstore*
SYSTEMD_UNIT_PATH=$1: systemd-analyze verify --recursive-errors=no "$1"/petstore*.{service,socket,timer}
systemd-analyze security --offline=true --threshold=19 "$1"/petstore{,-backup,-backup-failed}.service

make release-check

git ls-files 'deploy/*kustomization.yaml' | while read -r file; do
	go run sigs.k8s.io/kustomize/kustomize/v5@v5.8.2 build -o "$1/all.yaml" "$(dirname "$file")"
	go run sigs.k8s.io/kubectl-validate@v0.0.4 "$1/all.yaml"
done

# Where git knows no history, a package is as complete as others, and newer: from an archive, in
# a shallow clone, here with vendored modules, and in a checkout of another user.
script=$PWD/deploy/package/version.sh
version=$(sh "$script")
git archive --prefix archive/ HEAD | tar -x -C "$1"
git clone -q -c core.autocrlf=true --depth 1 "file://$PWD" "$1/shallow"
git clone -q . "$1/theirs" && chown -R 65534 "$1/theirs"
for place in archive shallow theirs; do
	cd "$1/$place"
	[ $place != shallow ] || go mod vendor
	(umask 077 && GOOS=darwin GOFLAGS=-buildvcs=auto make package) # GOFLAGS as by default
	dpkg --no-act --install .bin/dist/*.deb
	dpkg --compare-versions "$(dpkg-deb --field .bin/dist/*.deb Version)" ge "$version"
	dpkg-deb --extract .bin/dist/*.deb files
	files/usr/bin/petstore --version | grep '^petstore version [0-9]*\.'
	[ "$(cd files && find . ! -perm -o=r | sort | xargs)" = './etc/petstore/petstore.env ./etc/petstore/secrets' ]
	zcat files/usr/share/doc/petstore/changelog.gz | grep -E '^ -- .*>  [A-Z][a-z]{2}, [0-9]'
	terms=files/usr/share/doc/petstore/THIRD_PARTY_LICENSES.txt
	for name in Go engine/docs github.com/labstack/echo; do grep "^==== $name" $terms; done
	cmp $terms "$1/archive/$terms"
done

# The links of its pages lead to its files.
cd "$1/archive/files/usr/share/petstore"
find . -name '*.md' | while read -r page; do
	grep -oP '\]\(\K[^)#:]+(?=[)#])' "$page" | while read -r link; do [ -e "$(dirname "$page")/$link" ]; done
done

# After a release, the changelog names it first, or after what is not released.
cd "$1/archive"
for heading in Unreleased 'v1.2.0 (2026-12-05)'; do
	printf '# Changes\n\n## %s\n\n## 1.2.0\n' "$heading" >.github/CHANGELOG.md
	sh deploy/package/version.sh >>versions
done
grep -E '^1\.2\.0\+20[0-9]{12}$' versions
grep -x '1\.2\.0' versions

# Versions sort as the commits do.
git init -q "$1/versions"
cd "$1/versions"
last=1.0.0~dev
later() { # N makes N commits, after which the version must be a later one
	for i in $(seq "$1"); do git -c user.name=x -c user.email=x commit -q --allow-empty -m "$i"; done
	version=$(sh "$script")
	dpkg --compare-versions $last lt "$version"
	last=$version
}
later 1
later 11
git tag v1.0.0
later 0
[ "$version" = 1.0.0 ]
later 1
later 11
git tag v1.0.1
later 0

# A signed commit has a date, whatever git shows of signatures.
cd "$1/shallow"
printf '#!/bin/sh\ncat >/dev/null\nprintf "\\n[GNUPG:] SIG_CREATED x\\n" >&2\nprintf -- "-----BEGIN PGP SIGNATURE-----\\n\\n-----END PGP SIGNATURE-----\\n"\n' >"$1/gpg"
chmod +x "$1/gpg"
git -c user.name=x -c user.email=x -c gpg.program="$1/gpg" commit -qS --allow-empty -m signed
git config gpg.program "$1/gpg"
git config log.showSignature true
sh "$script" | grep -E '^[0-9.]+(~dev\.|\+)20[0-9]{12}$'

# Names of tags are no commands.
cd "$1/theirs"
chown -R 0 .
git tag | xargs -r git tag -d
git tag v1.0.0
make breaking | grep 'no earlier release' # rather than with itself
git -c user.name=x -c user.email=x commit -q --allow-empty -m x
git tag "v9';id>pwned;'"
if sh "$script" || make build; then exit 1; fi
[ ! -e pwned ]
