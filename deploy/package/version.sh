#!/bin/sh
# Prints the version of what is built here: 1.2.3 at the tag v1.2.3, 1.2.3+4.gHASH
# four commits later, and 1.0.0~dev.4.gHASH, which sorts before 1.0.0, without a tag.
# Changes that are not committed add ".dirty".
if version=$(git describe --tags --match 'v[0-9]*' --dirty=.dirty 2>/dev/null); then
	version=${version#v}
	case $version in
	*-g*)
		since=${version%-g*} # 1.2.3-4
		version=${since%-*}+${since##*-}.g${version##*-g}
		;;
	esac
elif count=$(git rev-list --count HEAD 2>/dev/null); then
	version=1.0.0~dev.$count.g$(git describe --always --dirty=.dirty --exclude '*')
else
	version=unknown
fi
echo "$version"
