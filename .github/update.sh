#!/usr/bin/env bash
# Usage: .github/update.sh CLONE
# Replaces engine/ by that of CLONE, a clone of the repository that this service is a copy of, and
# prints what the changelog there says about the library since. Commits nothing.
set -euo pipefail
fail() { echo "update.sh: $*. Nothing was changed." >&2; exit 1; }
[ $# = 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
clone=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
module() { sed -n 's/^module //p' "$1/go.mod"; }
hash() { git ls-files -s engine ':!engine/ORIGIN' | git hash-object --stdin; }
library() { sed -n '/^### Library/,/^##* [^L]/{/^#/!p}' "$clone/.github/CHANGELOG.md"; }

[ -e "$clone/engine" ] && [ ! -e "$clone/engine/ORIGIN" ] || fail "$1 is not the repository that this service is a copy of"
[ -z "$(git status --porcelain engine)" ] || fail 'Commit or undo your changes of engine/ first'
old=nothing
if [ -e engine ]; then # not while copy.sh makes this service
	read -r old hash <engine/ORIGIN
	[ "$(hash)" = "$hash" ] || fail "engine/ has changes of your own, which would be lost; they are shown by:
git diff $(git log -1 --format=%h engine/ORIGIN) engine
Undo them first, or move them elsewhere"
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
new=archive
if git -C "$clone" ls-files --error-unmatch go.mod >/dev/null 2>&1; then
	[ -z "$(git -C "$clone" status --porcelain engine)" ] || fail "Commit or undo the changes of engine/ in $1 first"
	new=$(git -C "$clone" rev-parse HEAD)
	git -C "$clone" archive HEAD engine | tar -x --no-same-permissions -C "$tmp"
else
	cp -R "$clone/engine" "$tmp"
fi
from=$(module "$clone")
grep -rlIF "$from" "$tmp" | xargs sed -i "s#${from//./\\.}#$(module .)#g"
gofmt -w "$tmp"
echo "engine/ was of $old, and is now of $new."
[ ! -e engine ] || library | grep -vxFf engine/ORIGIN || true
rm -rf engine && cp -R "$tmp/engine" . && git add -Af engine
{ echo "$new $(hash)" && library; } >engine/ORIGIN && git add -f engine/ORIGIN
