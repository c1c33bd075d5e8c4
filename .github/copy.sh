#!/usr/bin/env bash
# Usage: .github/copy.sh DIR MODULE PROGRAM NOUN PREFIX [PLURAL]
# Makes another service in the new folder DIR, such as:
#   .github/copy.sh ../library example.com/library shelfd book bsk
# MODULE is the Go module, PROGRAM the command, NOUN the resource, PREFIX the beginning of API keys.
# It compiles the service and tests its stores, in about a minute. If that fails, DIR is removed.
# Needs bash 4.4, git and GNU sed.
set -Eeuo pipefail
export LC_ALL=C

refuse() { echo "copy.sh: $*. Nothing was written." >&2; exit 1; }
[ $((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1])) -ge 404 ] || refuse "This needs bash 4.4 or later, not $BASH_VERSION"
[[ $(sed --version 2>/dev/null) = *'(GNU sed)'* ]] || refuse 'This needs GNU sed, as the sed of PATH'
[ $# = 5 ] || [ $# = 6 ] || { sed -n '2,8s/^# //p' "$0" >&2; exit 2; }
module=$2 program=$3 noun=$4 prefix=$5
case $noun in
*[sxz] | *[cs]h) plural=${6-${noun}es} ;;
*[!aeiou]y) plural=${6-${noun%y}ies} ;;
*) plural=${6-${noun}s} ;;
esac
parent=$(cd "$(dirname -- "$1")" 2>/dev/null && pwd -P) || refuse "The folder of $1 does not exist"
dir=${parent%/}/$(basename -- "$1")
cd "$(dirname "$0")/.."
clone=$(pwd -P)
[[ $dir/ != "$clone"/* ]] || refuse "$1 is inside the clone: give a folder beside it"
[ ! -e "$dir" ] && [ ! -L "$dir" ] || refuse "$1 exists already"
[[ $module =~ ^[a-z0-9.-]+(/[A-Za-z0-9._~-]+)*$ ]] || refuse "$module is not a module path, such as example.com/library"
for word in "$program" "$noun" "$prefix" "$plural"; do
	[[ $word =~ ^[a-z][a-z0-9]*$ ]] || refuse "'$word' must consist of a-z and 0-9, and begin with a letter"
done
[ "$noun" != "$plural" ] || refuse "The plural must differ from $noun: give another one as the last argument"
for word in "$noun" "$plural"; do
	gofmt -e <<<"package p; var $word int" >/dev/null 2>&1 || refuse "$word is a keyword of Go"
	! go doc -u "builtin.$word" >/dev/null 2>&1 || refuse "$word is predeclared in Go"
	[ ! -e "internal/$word" ] && [ ! -e "engine/$word" ] || refuse "$word is the name of a package"
done
case $program in user | order | group | table | column | check | grant | window | offset | limit | union)
	refuse "$program is a word of SQL, and the schema in PostgreSQL has the name of the program" ;;
esac
commit=archive
if git ls-files --error-unmatch .github/copy.sh >/dev/null 2>&1; then
	commit=$(git rev-parse HEAD)
	[ -z "$(git status --porcelain -uno .)" ] || refuse 'Commit or undo your changes first'
fi

echo "copy.sh: writes, compiles and tests $dir. This takes about a minute." >&2
mkdir "$dir"
log=$(mktemp)
exec 3>&2 >"$log" 2>&1
trap '{ rm -rf "$dir" "$log"; } 2>&3' EXIT
trap '{ tail -n 20 "$log"; refuse "With these words, the service fails as above"; } >&3 2>&3' ERR
unset $(git rev-parse --local-env-vars)
if [ $commit = archive ]; then
	tar -c --exclude=./.bin --exclude=./vendor --exclude=.git --exclude='*.db*' .
else
	git -c tar.umask=user archive HEAD
fi | tar -x --no-same-permissions -C "$dir"
cd "$dir"

# Removes what only this repository has: its specification, its changes, and this script with its test.
rm -r .github/copy.sh internal/proof/copy internal/proof/contract/specification* engine
printf '# Changes\n\n## Unreleased\n' >.github/CHANGELOG.md
sed -i '/specification.yaml/d; /^copy:/,/^$/d; s/\bsdk copy\b/sdk/' Makefile .github/workflows/check.yml
sed -i '/^## Make it yours/,/^## /{/^## [^M]/!d}' .github/COPY.md
sed -i '/(`copy`)/d; s/`copy`, //' .github/CONTRIBUTING.md

# Replaces the words. Each becomes a number first, because a new word may contain an old one.
to='' from='' n=0 article=''
while read -r old new; do
	to+="s#$old#\x01$((++n))\x02#g;" from+="s#\x01$n\x02#$new#g;"
done <<-END
	example.com/petstore $module
	petstore $program
	Petstore ${program^}
	PETSTORE ${program^^}
	psk $prefix
	pets $plural
	Pets ${plural^}
	PETS ${plural^^}
	pet $noun
	Pet ${noun^}
	PET ${noun^^}
END
if [[ $noun =~ ^([aeio]|u[^nst]|un[^i]|hour|hono|heir) && ! $noun =~ ^(eu|one) ]]; then
	article='s,\b([Aa])(\s+((//|#|--)\s+)?[`"*]*\x01([6-9]|1.)\x02),\1n\2,g;'
fi
replace=$to$article$from
grep -rlIiE 'pet|psk' --exclude-dir=vendor --exclude='*LICENSE*' --exclude='*-lock.json' --exclude='*.sum' . |
	xargs -r sed --sandbox -i -zE "$replace"
find . -depth -name '*pet*' ! -path './vendor/*' | while read -r old; do
	new=${old%/*}/$(sed -E "$replace" <<<"${old##*/}")
	[ ! -e "$new" ] || { echo "$new exists already"; exit 1; }
	mv "$old" "$new"
done
gofmt -w cmd gen internal *.go

git init -q
bash .github/update.sh "$clone"
make --no-print-directory generate
go mod tidy
go vet -tags "$(sed -n 's/^ALL_TAGS := //p' Makefile)" ./...
go test ./internal/store/...
git -c core.excludesFile= add -A
git var GIT_COMMITTER_IDENT || { git config user.name "$program" && git config user.email "$program@localhost"; }
git -c commit.gpgsign=false commit -q --no-verify -m "A copy of the pet store's commit $commit"
trap 'rm "$log"' EXIT
echo "copy.sh: $dir is a service of its own. Go on there with \"First steps of a copy\" in .github/COPY.md." >&3
