# shellcheck shell=bash
# A python3 with torch at the front of PATH: the caller's, or one in build-test-torch/, which git ignores, made once
# from the example's requirements (200 MB for processors alone; gigabytes where PyPI's own build is all there is).
need_torch() { # ROOT of the repository
	local venv=$1/build-test-torch wanted=$1/examples/gpt-torch/requirements.txt
	# One in /tmp would do by hand, but a job's sandbox has a /tmp of its own.
	python3 -c 'import sys, torch; sys.exit(torch.__file__.startswith("/tmp/"))' 2>/dev/null && return 0
	if ! cmp -s "$wanted" "$venv/requirements.txt"; then
		rm -rf "$venv"
		python3 -m venv "$venv" || { echo "python3 cannot make a virtual environment: install python3-venv" >&2; return 1; }
		"$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: -r "$wanted" || return 1
		cp "$wanted" "$venv/requirements.txt"
	fi
	export PATH=$venv/bin:$PATH
}
