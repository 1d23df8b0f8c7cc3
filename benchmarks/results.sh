#!/usr/bin/env bash
# Everything in docs/results/bench, for one model: the paper's tables and figures, and what came after.
#   benchmarks/results.sh RUNS OUT [options of `calipers reproduce`, for example --model llada-8b-base --compile]
#   DATA     folder of stories.jsonl.gz, abstracts.jsonl.gz, reviews.jsonl.gz and the random-span files
#   ONLY     one of single, multi, daedal, spans, text, tables (default: all of them)
#   OWN      the name of a bias of the model's own, to be tried beside the paper's (default: none)
#   CALIPERS the command (default: calipers)
# Killed, it goes on where it was when it is started again.
set -euo pipefail
runs=$1 out=$2
shift 2
calipers=${CALIPERS:-calipers}
data=()
for set in stories abstracts reviews; do
  [ -e "${DATA:-}/$set.jsonl.gz" ] && data+=(--data "$set=$DATA/$set.jsonl.gz")
done
# All methods of a set in one go, so that each task is read once and forwards are full; the tables then only read.
starts() { for kind in "$@"; do for n in 4 8 16 32; do printf -- '-m\n%s\n' "${kind/@/$n}"; done; done; }
single=(-m oracle -m exhaustive -m regression -m powers -m lr-dllm $(starts fixed:@ cal:@ "cal:@,bias=none" daedal:@)
  $(starts daedal:@,low=0.1 daedal:@,low=0.2 daedal:@,low=0.3 daedal:@,low=0.5)
  -m cal:8,patience=2 -m cal:8,patience=2,step=2 -m cal:8,patience=3 -m cal:8,patience=5)
multi=(-m oracle -m powers $(starts fixed:@ cal:@))
if [ -n "${OWN:-}" ]; then
  single+=($(starts "cal:@,bias=$OWN") -m "exhaustive,bias=$OWN")
  multi+=($(starts "cal:@,bias=$OWN"))
fi
only=${ONLY:-all}
if [ "$only" = all ] || [ "$only" = single ]; then
  "$calipers" eval humaneval-single-line "${single[@]}" --bias paper --runs "$runs" "$@"
  "$calipers" eval humaneval-single-line --split all -m oracle $(starts fixed:@) --runs "$runs" "$@"
fi
if [ "$only" = all ] || [ "$only" = multi ]; then
  "$calipers" eval humaneval-multi-line "${multi[@]}" --bias paper --runs "$runs" "$@"
fi
if [ "$only" = all ] || [ "$only" = daedal ]; then
  "$calipers" eval humaneval-multi-line $(starts daedal:@) --runs "$runs" "$@"
fi
if [ "$only" = all ] || [ "$only" = spans ]; then
  for set in humaneval-random-span-light humaneval-random-span; do
    file=$DATA/HumanEval-RandomSpanInfilling${set#humaneval-random-span}.jsonl.gz
    "$calipers" eval $set --data "${file/-light/Light}" -m oracle -m fixed:8 -m fixed:16 -m cal:8 -m cal:16 \
      --bias paper --runs "$runs" "$@"
  done
fi
if [ "$only" = all ] || [ "$only" = text ]; then
  for set in stories abstracts reviews; do
    methods=(-m oracle -m exhaustive -m regression)
    for n in 2 4 8; do methods+=(-m fixed:$n -m cal:$n); done
    if [ $set = stories ]; then
      for n in 2 4 8; do
        methods+=(-m "cal:$n,bias=none" -m cal:$n,patience=1 -m cal:$n,patience=1,step=2 -m cal:$n,patience=3)
      done
    fi
    "$calipers" eval $set --data "$DATA/$set.jsonl.gz" "${methods[@]}" --bias paper --runs "$runs" "$@"
  done
fi
if [ "$only" = all ] || [ "$only" = tables ]; then
  for name in figure2a figure2b table1 table2 table3 table4 table5 table6 table7 table8 table9 figure1 figure4 beyond; do
    "$calipers" reproduce $name "${data[@]}" --runs "$runs" -o "$out" "$@"
  done
fi
