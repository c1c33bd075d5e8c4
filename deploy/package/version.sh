#!/bin/sh
# Prints the version of what is built here: 1.2.3 at the tag v1.2.3, 1.2.3+4.gHASH
# four commits later, and 1.0.0~dev.4.gHASH, which sorts before 1.0.0, without a tag.
# Changes that are not committed add ".dirty".
#
# An archive, a shallow clone and a checkout that git refuses to read have no history. There
# the changelog names the version, and the date stands for the number of commits.
if version=$(git describe --tags --match 'v[0-9]*' --dirty=.dirty 2>/dev/null); then
	version=${version#v}
	case $version in
	*-g*)
		since=${version%-g*} # 1.2.3-4
		version=${since%-*}+${since##*-}.g${version##*-g}
		;;
	esac
elif [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ]; then
	version=1.0.0~dev.$(git rev-list --count HEAD).g$(git describe --always --dirty=.dirty --exclude '*')
else
	versions=$(sed -n 's/^## v*\([^ ]*\).*/\1/p' .github/CHANGELOG.md)
	format=%Y%m%d%H%M%S
	date=$(git log -1 --no-show-signature --date=format:$format --format=%cd 2>/dev/null || date -r .github/CHANGELOG.md +$format)
	case $versions in
	Unreleased) version=1.0.0~dev.$date ;;
	Unreleased*) version=$(echo "$versions" | sed -n 2p)+$date ;;
	*) version=${versions%%[!0-9.]*} ;;
	esac
fi
case $version in # a tag may have any name, and the Makefile puts the version into commands
'' | [!0-9]* | *[!0-9A-Za-z.+~-]*)
	echo "deploy/package/version.sh: '$version' is no version" >&2
	exit 1
	;;
esac
echo "$version"
