#!/usr/bin/env bats
# A job that reports nothing but its usual output (`stack: log:<format>`). The training is gradient descent on one
# number, its cost is put on by waiting; the faster setting takes a third of the time.

load helpers

setup() {
	mkdir -p "$BATS_TEST_TMPDIR/case/repo" "$BATS_TEST_TMPDIR/case/home"
	enter "$BATS_TEST_TMPDIR/case"
	cat >train.py <<-'END'
		import sys, time
		updates, mode = int(sys.argv[1]), sys.argv[2]
		weight, tokens = 3.0, 2048 if mode == "half" else 4096
		print("loading data", flush=True)
		for step in range(1, updates + 1):
		    time.sleep(0.02 if mode in ("quick", "half") else 0.06)
		    loss, gradient = weight * weight, 2 * weight
		    weight -= 0.02 * gradient
		    if mode == "broken" and step == 5:
		        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; "
		                           "70.00 GiB already allocated; 1.50 GiB free; 76.00 GiB reserved in total by PyTorch)")
		    print(f"step={step} loss={loss:.9f} grad_norm={abs(gradient):.6f} lr=0.02 tokens={tokens}", flush=True)
		print("done", flush=True)
	END
	cat >infrarsi.yaml <<-'END'
		version: 1
		name: by-log
		stack: log:ddp
		launch:
		  command: ["python3", "train.py", "{updates}", "{mode}"]
		  timeout: 1m
		contract:
		  updates: 12
		  warmup: 2
		  loss: {tolerance: 1%}
		  grad_norm: {tolerance: 3%}
		  frozen_files: ["train.py"]
		knobs:
		  - {name: mode, values: [plain, quick, half, broken], reference: plain}
		budget: {trials: 5}
	END
	git init -q .
	git config user.name Tester
	git config user.email tester@example.org
	git add -A
	git commit -q -m start
}

@test "a job without a hook is measured, searched and sped up by its log alone" {
	lock
	infrarsi doctor --seed 7 >doctor.txt
	run -0 infrarsi run --accept-noise
	has "delivered: "
	lacks "delivered: 1.00x"
	has "mode=quick"
	run infrarsi verify --details
	has "4096 tokens an update at all 12 updates"
	has "tokens 2048 against 4096"
	has "the job reports no data digest"
}

@test "an out-of-memory end is read from the log with its numbers" {
	lock
	infrarsi doctor --seed 7 >doctor.txt
	infrarsi run --start mode=broken --trials 1 --accept-noise >run.txt || true
	run infrarsi show 1
	has "oom: RuntimeError: CUDA out of memory"
	# 79.15 GiB and 2.00 - 1.50 more, as the message says
	has "512 MiB more than there is"
}

@test "a format that does not exist is refused with those that do" {
	sed -i 's/log:ddp/log:nonsense/' infrarsi.yaml
	run -2 infrarsi doctor
	has "infrarsi.yaml"
	has "nonsense"
	has "megatron"
}

@test "a log that leaves updates out: which are missing is said, and where it goes on" {
	sed -i 's/^    print(f"step=/    if step % 5 == 0: print(f"step=/' train.py
	git commit -qam "every fifth"
	lock
	run -1 infrarsi doctor --seed 7
	has "2 of 12 updates reported: number 1 is missing, the next one there is 5; each has to be reported"
}

@test "one long line, no newline at the end, ranks that print the same step" {
	sed -i 's/^    print(f"step=\(.*\)", flush=True)/    print("x" * 3000000)\n    for rank in 1, 0, 2: print(f"[rank{rank}]: step=\1", end="" if step == updates and rank == 2 else "\\n", flush=True)/
		s/^print("done", flush=True)//' train.py
	git commit -qam "noisy"
	lock
	run infrarsi doctor --seed 7
	has "s/update (4 runs)"
	run -0 infrarsi verify
	has "5 valid, 0 invalid, 0 refused"
}

@test "what a log does not say is said to the user with what to do" {
	sed -i 's/ tokens={tokens}"/"/' train.py
	git commit -qam untold
	lock
	run -1 infrarsi doctor --seed 7
	has "same_workload"
	has "let the job print its tokens"
}

@test "a log of another format: where to look is said" {
	sed -i 's/log:ddp/log:megatron/' infrarsi.yaml
	git commit -qam other
	lock
	run -1 infrarsi doctor --seed 7
	has "no line of its output was read as a step of the format megatron"
	has "infrarsi logs"
}
