#!/usr/bin/env bash
# wrappers_test.sh PREFIX SCRATCH: see README.md.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
original=$1 scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch"
scratch=$(readlink -f "$scratch")
prefix=$scratch/moved
cp -a "$original" "$prefix"
mv "$original" "$original.hidden"
trap 'rm -rf "$original"; mv "$original.hidden" "$original"' EXIT
unset HAWSER_CC HAWSER_CXX LD_LIBRARY_PATH
PATH=$prefix/bin:$PATH
cd "$scratch"

fail() { echo "FAILED: $*"; exit 1; }

# expect TEXT COMMAND…: the command's output contains the text.
expect() {
  local text=$1 output
  shift
  output=$("$@" 2>&1) || fail "$* ended with status $?: $output"
  [[ $output == *"$text"* ]] || fail "$* printed '$output', without '$text'"
}

# runs PROGRAM [GREETING]: two ranks say hello, with this prefix's library.
runs() {
  expect "$prefix/lib" readelf -d "$1"
  expect "${2:-hello} from 0 of 2" mpirun -n 2 "$1"
  expect "${2:-hello} from 1 of 2" mpirun -n 2 "$1"
  echo "ok $1"
}

mpicc "$here/hello.c" -o ./direct_c
runs ./direct_c
mpicxx "$here/hello.cpp" -o ./direct_cxx
runs ./direct_cxx
mpic++ -c "$here/hello.cpp" -o object.o
mpiCC object.o -o ./two_steps
runs ./two_steps

mkdir 'with blanks'
cp "$here/hello.c" "with blanks/it's.c"
mpicc -DGREETING='"good day"' "with blanks/it's.c" -o 'with blanks/program'
runs 'with blanks/program' 'good day'
eval "$(mpicc -show -DGREETING='"pasted it"' "with blanks/it's.c" -o ./pasted)"
runs ./pasted 'pasted it'

HAWSER_STATS=stats.json mpirun -n 2 ./direct_c >/dev/null
expect '2 ranks' hawser report stats.json
expect 'shm.queue_slots' hawser info
expect 'mpirun' mpiexec --help

expect "-I$prefix/include" mpicc --showme:compile
expect "-L$prefix/lib" mpicxx -showme:link
expect "$prefix/include" mpicc -showme:incdirs
expect "$prefix/lib" mpicc --showme:libdirs
expect mpi_abi mpicc --showme:libs
expect 'Hawser' mpicc --showme:version
expect -lmpi_abi mpicc -link-info
[[ $(mpicc -compile-info) != *-lmpi_abi* ]] || fail 'mpicc -compile-info links'
[[ $(mpicc -show -c x.c) != *-lmpi_abi* ]] || fail 'mpicc -c links'
expect 'gcc -dM' mpicc -show -cc=gcc -dM
expect 'ccache gcc' env HAWSER_CC='ccache gcc' mpicc -show x.c
expect MPI_Init mpicc -E "$here/hello.c"
mpicc --version >/dev/null
if mpicc --showme:nonsense 2>/dev/null; then fail 'mpicc --showme:nonsense succeeded'; fi
echo 'ok options'

flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs hawser)
read -ra flags <<<"$flags"
cc "$here/hello.c" -o ./pkg_config "${flags[@]}"
runs ./pkg_config

for project in findmpi package; do
  cmake -G Ninja -S "$here/$project" -B "$project" -DCMAKE_PREFIX_PATH="$prefix" >"$project.log" ||
    fail "cmake of $project: $(tail -30 "$project.log")"
  ninja --quiet -C "$project"
  runs "$project/hello_c"
  runs "$project/hello_cxx"
  expect "$prefix/bin/mpiexec" cat "$project/mpiexec"
done
