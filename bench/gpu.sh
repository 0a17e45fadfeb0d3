#!/usr/bin/env bash
# A quarter of an hour of a GPU, without a network: each STEP can be the last, and leaves what it has.
#
#     bash bench/gpu.sh OUT [STEP ...]              # 1 to 6, by default all; OUT/gpu.tar.gz grows
#     bash bench/gpu.sh OUT [STEP ...] --dry        # the same on a CPU at tiny sizes
#     tar -xzf OUT/gpu.tar.gz -C results && python -m bench.publish       # the pages, anywhere
#
# 1  90 s   facts, the tests marked gpu, a step of every part against float64, an oom, a resume
# 2 150 s   fused,naive × rope,sin on BBC news, three seeds and costs, in bf16 and in fp32
# 3 120 s   peers at the size of BERT-base, training and inference, padded and ragged batches
# 4  60 s   cost against length, to 16,384 tokens
# 5 150 s   one-factor over all parts, several trainings at once
# 6 120 s   the diagnostics' profile for the mixers that a CPU could not afford, at width 128
#
# `make gpu-bundle` makes build/gpu, with data and the wheels of what such a machine lacks. Every step
# has its own time limit, a step that fails does not stop the next, and the exit status is then 1.
set -uo pipefail
cd "$(dirname "$0")/.."

usage() { echo "usage: bash bench/gpu.sh OUT [STEP ...] [--dry], a STEP from 1 to 6" >&2; exit 2; }
[ $# -ge 1 ] && [ "${1#-}" = "$1" ] || usage
mkdir -p "$1/results/checks/gpu" "$1/results/peers/gpu" || exit 2
out=$(cd "$1" && pwd); shift
dry=0; steps=""
for word in "$@"; do
    case $word in
        --dry) dry=1 ;;
        [1-6]) steps+=" $word" ;;
        *) usage ;;
    esac
done
if [ -d build/gpu/wheels ]; then # what is installed already stays
    python bench/gpu_bundle.py build/gpu --install || exit 2
fi
all() { # all KIND FIRST: every part of a kind that is installed, FIRST the first
    python -c 'import sys; from zoo.registry.loading import load; kind, first = sys.argv[1:]
print(",".join(dict.fromkeys([first, *load().registry.labels(kind)])))' "$@"
}

export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
data=data/bbc-news; [ -d build/gpu/bbc-news ] && data=build/gpu/bbc-news
if [ "$dry" = 1 ]; then
    data="newswire(train=60,test=30)"; patience=10
    device=(--device cpu --threads 1); precisions="fp32 bf16"; peers=(--quick)
    small=(--set "dim=16,heads=2,ffn_dim=32,layers=1,vocab_size=300" --max-length 16)
    sizes=("${small[@]}" --epochs 1)
    few=(--seeds 1); costs=(--set blocks=1); lengths=8,16; together=2; wide=16
    parts=(--attention fused --pe sin --norm layer,rms --pool mean,cls); mixers=fused,split
    tasks=(--data "majority(train=300, test=30),order(train=300, test=30)" --lr 0.003)
    tasks+=(--set "dim=16,heads=2,ffn_dim=32,layers=1")
else
    python -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || {
        echo "bench/gpu.sh: torch finds no CUDA device here; --dry runs the steps on a CPU" >&2; exit 2; }
    patience=1
    device=(--device cuda); precisions="bf16 fp32"; peers=(--blocks 12)
    small=(); sizes=(); few=(--seeds 3); costs=()
    lengths=128,256,512,1024,2048,4096,8192,16384; together=4; wide=128
    parts=()
    for kind in attention=fused pe=sin norm=layer ffn=gelu block=pre pool=mean; do
        parts+=("--${kind%=*}" "$(all "${kind%=*}" "${kind#*=}")")
    done
    mixers=fused,linear,performer,nystrom,linformer,gla,deltanet,gated-deltanet,mamba2,retention,aft
    tasks=(--data "recall(pairs=64),noisy-recall(pairs=8, length=96)" --lr 0.003)
    tasks+=(--set "dim=128,heads=4,ffn_dim=512,layers=2,dropout=0" --max-length 256)
fi
failed=0
start=$SECONDS

try() { # try SECONDS COMMAND…
    local limit=$(($1 * patience)) begun=$SECONDS status; shift
    echo "== $*" >&2
    timeout --signal INT --kill-after 5 "$limit" "$@"; status=$?
    echo "== status $status after $((SECONDS - begun)) s" >&2
    [ "$status" = 0 ] || failed=1
}

bench() { # bench PLACE SECONDS OPTIONS…: records go where results are published
    local place=$out/results/$1 limit=$2; shift 2
    try "$limit" python -m zoo bench "${device[@]}" "$@" --out "$place"
}

step_1() {
    try 60 python -m bench.gpu_checks "$out/results/checks/gpu/lines.jsonl" "${device[@]:0:2}" \
        --seconds $((45 * patience))
    # Only files with such tests are collected; collecting all takes longer than the tests.
    mapfile -t files < <(grep -rl --include='*.py' 'pytest.mark.gpu' tests)
    try 60 python -m pytest -q -n 0 -m gpu "${files[@]}"
    resume
}

resume() { # a training that is stopped in the middle goes on where it was
    local command=(python -m zoo bench "${device[@]}" --attention fused --pe rope --baseline none
        --data "newswire(train=2000,test=30)" --phases train --seeds 1 --epochs 40 --out "$out/resume")
    rm -rf "$out/resume"
    timeout --signal INT $((15 * patience / (1 + 9 * dry))) "${command[@]}" "${small[@]}" &&
        echo "== it had ended before it was stopped" >&2
    try 60 "${command[@]}" "${small[@]}"
    rm -rf "$out/resume"
}

step_2() {
    for precision in $precisions; do
        bench "bbc-news/gpu/first-$precision" 75 --attention fused,naive --pe rope,sin \
            --data "$data" "${sizes[@]}" "${few[@]}" "${costs[@]}" --set "precision=$precision"
    done
}

step_3() {
    local bbc=(); [ -d "$data" ] && bbc=(--data "$data")
    try 120 python -m bench.peers "${peers[@]}" "${device[@]}" "${bbc[@]}" \
        --precision "${precisions%% *}" --out "$out/results/peers/gpu/lines.jsonl"
}

step_4() {
    bench costs/gpu/lengths 60 --attention fused,naive "${small[@]}" --max-length "$lengths" \
        --phases cost --set timeout=20 "${costs[@]}"
}

step_5() {
    bench bbc-news/gpu/one-factor 150 --design one-factor "${parts[@]}" --data "$data" "${sizes[@]}" "${few[@]}" --phases train --jobs "$together"
}

step_6() {
    bench "diagnostics/gpu/width-$wide" 120 --design one-factor --attention "$mixers" --pe rope \
        "${tasks[@]}" "${few[@]}" --phases train --jobs "$together"
}

pack() { # what is published, at most eight files; what is missing was not reached
    (cd "$out/results" && find . -name '*.jsonl' | tar -czf ../gpu.tar.gz -T -)
}

for step in ${steps:-1 2 3 4 5 6}; do
    "step_$step"
    pack
    echo "== step $step: $((SECONDS - start)) s since the start; $out/gpu.tar.gz" >&2
done
exit "$failed"
