#!/usr/bin/env bash
# Everything that needs a GPU, in under 8 minutes: tests, peers, a sweep, cost against length.
#
#     bash bench/gpu.sh OUT [--data DIR]    # records and comparisons are written to OUT
#     bash bench/gpu.sh OUT --dry           # the same steps on a CPU at tiny sizes
#
# Every step has its own time limit. A step that fails does not stop the next ones; the exit status
# is then 1.
set -uo pipefail
cd "$(dirname "$0")/.."

usage() { echo "usage: bash bench/gpu.sh OUT [--data DIR] [--dry]" >&2; exit 2; }
[ $# -ge 1 ] && [ "${1#-}" = "$1" ] || usage
out=$1; shift
dry=0; data=()
while [ $# -gt 0 ]; do
    case $1 in
        --dry) dry=1; shift ;;
        --data) [ $# -ge 2 ] || usage; data=(--data "$2"); shift 2 ;;
        *) usage ;;
    esac
done

export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
if [ "$dry" = 1 ]; then
    device=(--device cpu --threads 1); patience=10
    peers=(--quick); precision=fp32
    sizes=(--set dim=16,heads=2,ffn_dim=32,layers=1,vocab_size=300,blocks=1)
    sweep=("${sizes[@]}" --max-length 16 --epochs 1)
    [ ${#data[@]} -gt 0 ] || sweep+=(--data "newswire(train=60,test=30)")
    lengths=8,16,32
else
    python -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || {
        echo "bench/gpu.sh: torch finds no CUDA device here; --dry runs the steps on a CPU" >&2; exit 2; }
    device=(--device cuda); patience=1
    peers=(--blocks 12); precision=bf16
    sizes=(); sweep=(); lengths=128,256,512,1024,2048,4096,8192,16384
fi
mkdir -p "$out" || exit 2
failed=0

step() { # step SECONDS NAME COMMAND…
    local limit=$(($1 * patience)) name=$2 start=$SECONDS; shift 2
    echo "== $name: $*" >&2
    if timeout "$limit" "$@"; then
        echo "== $name: done in $((SECONDS - start)) s" >&2
    else
        echo "== $name: failed with status $? after $((SECONDS - start)) s" >&2
        failed=1
    fi
}

# Only files with such tests are collected; collecting all takes longer than the tests.
mapfile -t gpu_tests < <(grep -rl --include='*.py' 'pytest.mark.gpu' tests)
step 60 tests python -m pytest -q -n 0 -m gpu "${gpu_tests[@]}"
step 120 peers python -m bench.peers training inference positions "${peers[@]}" "${device[@]}" \
    --precision "$precision" --out "$out/lines.jsonl"
step 70 sweep python -m zoo bench --attention fused,naive --pe rope,sin --set "precision=$precision" \
    "${device[@]}" "${sweep[@]}" "${data[@]}" --out "$out/bbc-news"
step 80 length python -m zoo bench --attention fused,naive --max-length "$lengths" --phases cost \
    --set "timeout=20,precision=$precision" "${device[@]}" "${sizes[@]}" --out "$out/length"
exit "$failed"
