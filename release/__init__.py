"""What a maintainer runs before a release: build, check, list what is inside. Not part of the package."""
