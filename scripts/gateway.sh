#!/usr/bin/env bash
# Builds versitygw (Apache-2.0), the server of S3 that native/s3 is tested
# against, into .build: a program of its own module, nothing of it is linked.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v1.8.0
if [ ! -x .build/versitygw ] || [ "$(cat .build/versitygw.version 2>/dev/null)" != "$version" ]; then
	mkdir -p .build
	GOBIN=$PWD/.build GOFLAGS= scripts/fetch.sh go install "github.com/versity/versitygw/cmd/versitygw@$version"
	echo "$version" >.build/versitygw.version
fi
