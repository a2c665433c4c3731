#!/usr/bin/env bats
# Who predicted what: a program that says one thing rightly and one wrongly before the first trial, and what the report
# makes of it. The job is two to three times as fast with algorithm=quick, and no faster with algorithm=careful: far from
# what is predicted or close to it, whatever the machine does.
load helpers

setup_file() {
	new_repo "$BATS_FILE_TMPDIR/template"
	cp "$CLI_DIR/../../examples/proposers/ideas.sh" .
	cat >ideas.json <<-'JSON'
		{"configurations": [
		   {"settings": {"algorithm": "quick"}, "speedup": 2.6, "reason": "half the |waiting|"},
		   {"settings": {"algorithm": "careful"}, "speedup": 20, "reason": "<b>sounds good</b>"},
		   {"settings": {"mode": "broken"}, "speedup": 1.5}],
		 "priors": [{"knob": "algorithm", "setting": "quick", "speedup": 2.6, "speedup_sd": 0.5}],
		 "usage": {"tokens_in": 700, "tokens_out": 50, "usd": 0.25}}
	JSON
	sed 's/, prior: {.*}}}$/}/; /^proposers:/d' infrarsi.yaml >plain.yaml # a prior of the task would be a prediction, too
	{
		cat plain.yaml
		echo "starts: [{algorithm: quick}, {algorithm: careful}, {mode: broken}]"
		echo "proposers: [{kind: command, name: ideas, command: ['sh', './ideas.sh', '$PWD/ideas.json'], every: 99}]"
	} >infrarsi.yaml
	git add -A
	git commit -q -m proposer
	lock
	infrarsi doctor --seed 7 --hurry >"$BATS_FILE_TMPDIR/doctor.txt"
	infrarsi run --accept-noise --search-only --trials 3 >"$BATS_FILE_TMPDIR/run.txt"
}

setup() {
	from_template
}

@test "the report shows what came true and what did not" {
	run -0 infrarsi report
	has "who predicted"
	equals 1 "$(grep -c '^  ideas  *3 of 4 .* 1 of 3  1 of 1    750  0.25$' <<<"$output")"
	# The larger miss first.
	equals "careful quick quick" \
		"$(sed -n 's/^  ideas  *algorithm=\([a-z]*\).*/\1/p' <<<"$output" | xargs)"
	[ "$(awk '{print length}' <<<"$(sed -n '/who predicted/,/^$/p' <<<"$output")" | sort -n | tail -1)" -le 100 ]
}

@test "REPORT.md has a table and a picture of it" {
	infrarsi report >/dev/null
	grep -qF '![predicted against measured gains](calibration.svg)' .infrarsi/REPORT.md
	grep -q '^| ideas | algorithm=quick (trial 1) | half the \\|waiting\\| | +160% | ' .infrarsi/REPORT.md
	grep -q '^| ideas | algorithm=careful (trial 2) | &lt;b&gt;sounds good&lt;/b&gt; | 20x | ' .infrarsi/REPORT.md
	run -0 infrarsi report --markdown
	has "## Who predicted what"
	python3 - <<-'PY'
		import xml.etree.ElementTree as tree
		svg = "{http://www.w3.org/2000/svg}"
		root = tree.parse(".infrarsi/calibration.svg").getroot()
		titles = [t.text for g in root.iter(svg + "g") for t in g.iter(svg + "title")]
		assert len(titles) == 3 and all(t.startswith("ideas: algorithm=") for t in titles), titles
		width, height = float(root.get("width")), float(root.get("height"))
		for line in root.iter(svg + "line"):
		    assert all(0 <= float(line.get(k)) <= width for k in ("x1", "x2"))
		    assert all(0 <= float(line.get(k)) <= height for k in ("y1", "y2"))
		# Nothing from outside.
		assert not any(k.endswith("href") or k == "src" for e in root.iter() for k in e.keys())
	PY
}

@test "result.json has every prediction with its measurement" {
	run -0 infrarsi report --json
	equals ideas "$(json 'd["proposers"][0]["name"]')"
	equals "4 3 3 1 1 750" \
		"$(json '" ".join(str(round(d["proposers"][0][k])) for k in ("n_predictions", "n_measured", "n_run", "n_failed", "n_questions", "tokens"))')"
	equals True "$(json 'all(p["measured_by"] == ("model" if p["kind"] == "setting" else "trial") and p["measured_sd_ln"] > 0
		for p in d["proposers"][0]["predictions"] if p["measured_ln"] is not None)')"
	# What was right is closer than what was wrong.
	equals True "$(json '(lambda miss: miss["quick"] + 1 < miss["careful"])({p["what"]["settings"]["algorithm"]:
		abs(p["predicted_ln"] - p["measured_ln"]) for p in d["proposers"][0]["predictions"]
		if p["kind"] == "configuration" and p["measured_ln"] is not None})')"
}

@test "where nobody predicts there is nothing of it, and no old picture" {
	infrarsi report >/dev/null
	[ -s .infrarsi/calibration.svg ]
	cp plain.yaml infrarsi.yaml
	git commit -q -am plain
	infrarsi doctor --seed 7 --hurry --new >/dev/null
	[ ! -e .infrarsi/calibration.svg ] # it went with its campaign
	infrarsi run --accept-noise --search-only --trials 1 >/dev/null
	echo "<svg/>" >.infrarsi/calibration.svg
	run -0 infrarsi report
	lacks "predicted"
	[ ! -e .infrarsi/calibration.svg ]
	run ! grep -q "predicted" .infrarsi/REPORT.md
	run -0 infrarsi report --json
	equals False "$(json '"proposers" in d')"
}
