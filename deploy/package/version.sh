#!/bin/sh
# Prints the version of a package built here: 1.2.3 at the tag v1.2.3, 1.2.3+4.gHASH
# four commits later, and 1.0.0~dev.4.gHASH, which sorts before 1.0.0, without a tag.
tag=$(git describe --tags --match 'v[0-9]*' 2>/dev/null) ||
	tag=1.0.0~dev.$(git rev-list --count HEAD).g$(git rev-parse --short HEAD)
echo "${tag#v}" | sed 's/-\([0-9]*\)-g/+\1.g/'
