#!/usr/bin/env bash
# Usage: .github/update.sh REPOSITORY
# Merges what has changed in the engines of REPOSITORY, the URL that this service was once
# cloned from, since that clone or the last update. Commits nothing. Marks conflicts as git
# does; the exit status is then 1.
set -euo pipefail
shopt -s inherit_errexit # a folder that was only partly written would delete files here

# The engines, which a service takes unchanged.
engines='internal/edge internal/docs internal/server internal/keys internal/db internal/fault'

fail() { echo "update.sh: $*" >&2; exit 2; }
[ $# = 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."
[ -z "$(git rev-parse --show-prefix)" ] || fail 'this folder is part of a larger repository, where git cannot merge'
[ -e .github/upstream ] || fail 'only a service that rename.sh has renamed can be updated'
[ -z "$(git status --porcelain -uno)" ] || fail 'commit or undo your changes first'
. .github/rename.sh
read -r old module program noun prefix plural <.github/upstream
[[ $old =~ ^[0-9a-f]+$ ]] || fail ".github/upstream must begin with a commit, got '$old'"
problem=$(check "$module" "$program" "$noun" "$prefix" "$plural") || fail ".github/upstream: $problem"
git fetch -q --no-tags "$1"
new=$(git rev-parse FETCH_HEAD)
[ "$new" != "$old" ] || { echo "$1 has nothing new"; exit; }
! git cat-file -e "$new:.github/upstream" 2>/dev/null ||
	fail "$1 has been renamed, too: give the repository that both were cloned from"
git merge-base --is-ancestor "$old" "$new" 2>/dev/null ||
	fail "$1 does not have the commit '$old' of .github/upstream: give the repository that this service was cloned from"
engines="$(git show "$new:.github/update.sh" | sed -n "s/^engines='\(.*\)'/\1/p") .github/rename.sh .github/update.sh"

# Files and folders that have been removed here.
removed=$(git ls-tree -r --name-only "$old" $engines | while read -r file; do
	[ -e "$file" ] || if [ -e "${file%/*}" ]; then echo "$file"; else echo "${file%/*}"; fi
done)

# engines COMMIT [PARENT] commits the engines only, with the words of this service.
engines() {
	local dir=$tmp/$1
	mkdir "$dir"
	git archive "$1" $(git ls-tree --name-only "$1" $engines) | tar -xC "$dir"
	export GIT_DIR GIT_WORK_TREE=$dir GIT_INDEX_FILE=$tmp/index
	GIT_DIR=$(git rev-parse --absolute-git-dir)
	cd "$dir"
	words "$module" "$program" "$noun" "$prefix" "$plural"
	rm -rf $removed
	git read-tree --empty
	git add -Af .
	git -c user.name=update -c user.email=update commit-tree -m "engines of $1" ${2+-p "$2"} "$(git write-tree)"
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
before=$(engines "$old")
after=$(engines "$new" "$before")

conflicts=0
git cherry-pick -n "$after" || conflicts=$?
[ $conflicts -le 1 ] || exit $conflicts
sed -i "s/^$old/$new/" .github/upstream
git add .github/upstream

# Prints the notes of the changelog, and the modules whose versions changed.
notes() { git show "$1:.github/CHANGELOG.md" | sed -n '/^### Engines/,/^##* [^E]/{/^#/!p}'; }
added() { diff <("$1" "$old") <("$1" "$new") | sed -n 's/^> *//p' || true; }
modules() { git show "$1:go.mod" | sed -nE 's/^(\s+|require )(\S+\.\S+) (v\S+)$/\2@\3/p; s/^go (\S+)$/go@\1/p'; }
added notes
modules=$(added modules)
[ -z "$modules" ] || echo "go.mod has to follow: go get" $modules "&& go mod tidy"
[ $conflicts = 0 ] || echo 'Resolve the conflicts above; git status lists them. To give up: git reset --hard'
echo 'Then run make check, and commit. This shows all changes there:'
echo "git diff $old $new"
exit $conflicts
