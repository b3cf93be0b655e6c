#!/bin/sh
# no-calls.sh MoptReference.bc: nothing is left undefined but LLVM's intrinsics, and machine code for the lowest CPUs calls
# nothing outside: the optimizer has not turned a loop into memcpy or an intrinsic into libm.
set -eu
bitcode=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tool() { if command -v "$1-22" >/dev/null; then echo "$1-22"; else echo "/usr/lib/llvm-22/bin/$1"; fi; }

"$(tool llvm-dis)" "$bitcode" -o "$work/all.ll"
if grep '^declare' "$work/all.ll" | grep -v '@llvm\.'; then echo "undefined functions"; exit 1; fi
if grep -E '^target (triple|datalayout)|"target-(cpu|features)"' "$work/all.ll"; then echo "names a machine"; exit 1; fi
# What the compiler adds to every function before it optimizes.
sed -E 's/^attributes #([0-9]+) = \{/& "no-builtins" nounwind/' "$work/all.ll" >"$work/marked.ll"
for target in "x86_64-unknown-linux-gnu x86-64-v2" "aarch64-unknown-linux-gnu generic"; do
  set -- $target
  "$(tool opt)" -O2 -mtriple="$1" -mcpu="$2" "$work/marked.ll" -o "$work/$1.bc"
  "$(tool llc)" -O2 -filetype=obj -relocation-model=pic -mtriple="$1" -mcpu="$2" "$work/$1.bc" -o "$work/$1.o"
  if "$(tool llvm-nm)" --undefined-only "$work/$1.o" | grep .; then echo "calls are left for $1"; exit 1; fi
done
