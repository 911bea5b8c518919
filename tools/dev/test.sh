# ./dev test: sections, each a function section_NAME, and their totals. Sourced by ./dev.
#
# A section is done with ctest_section, or writes lines "PASSED FAILED SKIPPED" with `record`. One
# that fails without having counted a failure (a build error, a crash) counts as one. To add a
# section: write section_NAME and put NAME into `sections` or `nightly_sections`.
results=build/results
sections=(lint generated multirank launchers abi fault mitigation simulation other cluster softrdma mpi4py
  mpi4py_verbs asan-ubsan threads fuzz)
nightly_sections=(tidy clang verbs_matrix mpi4py_verbs_all many-seeds thread_programs)
fuzz_seconds=20 # for all targets together
mitigation_seeds=500
program_forms=() # of the programs on softrdma: the short ones

# What `other` leaves to the sections named after a label.
labels='unit|multirank|verbs_matrix|abi|fault|mitigation|sim|simulation|threads|cluster'

record() { echo "$2 $3 $4" >>"$results/$1.counts"; }

# ctest_section NAME PRESET ARGUMENTS-OF-CTEST…
ctest_section() {
  local name=$1 preset=$2
  shift 2
  step "ctest $preset $*"
  ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --timeout 120 \
    --no-tests=ignore --output-junit "$root/$results/$name.xml" "$@"
}

# Each header alone takes minutes: that is left to `tidy`, which is nightly.
section_lint() {
  step "lint"
  "$python" -m unittest discover --quiet -s tools/lint -p '*_test.py'
  record lint 1 0 0
  configure debug
  "$python" tools/lint/lint.py --build build/debug --skip headers \
    --counts "$results/lint.counts"
}

# What api/ generates is checked in; it must be what api/ generates now.
section_generated() {
  setup_environment generator
  step "api/generate.py --check"
  build/venv/generator/bin/python api/generate.py --check
  record generated 1 0 0
}

section_multirank() {
  build release
  ctest_section multirank release -L '^multirank$'
}

# Every channel of the verbs transport, with every fault.
section_verbs_matrix() {
  build release
  ctest_section verbs_matrix release -L '^verbs_matrix$'
}

# Programs of ours under launchers of others.
section_launchers() {
  build release
  setup_environment openmpi
  setup_environment mpich
  setup_environment impi
  "$python" tests/launchers/run.py --build build/release --environments build/venv \
    --counts "$results/launchers.counts"
}

section_abi() {
  setup_environment mpich
  ctest_section abi release -L '^abi$'
}

section_fault() { ctest_section fault release -L '^fault$'; }
# Programs that go on without ranks that die: each function, and a solver under many seeds.
section_mitigation() {
  local failed=0
  build release
  ctest_section mitigation release -L '^mitigation$' || failed=1
  step "$mitigation_seeds seeds"
  "$python" tests/fault/mitigation/seeds.py --build build/release --seeds "$mitigation_seeds" \
    --counts "$results/mitigation.counts" || failed=1
  return $failed
}
section_simulation() { ctest_section simulation release -L '^(sim|simulation)$'; }
section_other() { ctest_section other release -LE "^($labels)\$"; }

# Several hosts, made out of name spaces.
section_cluster() {
  build release
  setup_environment mpich
  ctest_section cluster release -L '^cluster$'
}

# Programs of others on the RDMA device in user space.
section_softrdma() {
  local failed=0
  build release softrdma softrdma_ibverbs softrdma_command
  "$python" softrdma/tests/programs.py --library build/release/lib/libsoftrdma.so \
    --work build/softrdma --counts "$results/softrdma.counts" "${program_forms[@]}" || failed=1
  setup_environment scapy
  "$python" softrdma/tests/wire.py --library build/release/lib/libsoftrdma.so \
    --work build/softrdma/wire --scapy build/venv/scapy/bin/python \
    --counts "$results/softrdma.counts" || failed=1
  return $failed
}

# The tests beside the code run in this build alone: it finds whatever the others would, and more.
section_asan-ubsan() {
  build_tests asan-ubsan --labels unit multirank
  ctest_section asan-ubsan asan-ubsan -L '^(unit|multirank)$'
}

# at_fixed_addresses COMMAND…: where that is allowed. GCC 12's thread sanitizer cannot map its shadow
# when the kernel randomises widely.
at_fixed_addresses() {
  local fixed=(setarch -R)
  "${fixed[@]}" true 2>/dev/null || fixed=()
  "${fixed[@]}" "$@"
}

section_threads() {
  build_tests tsan --labels threads
  step "ctest tsan"
  at_fixed_addresses ctest --test-dir build/tsan -j "$jobs" --output-on-failure --timeout 240 \
    --no-tests=ignore --output-junit "$root/$results/threads.xml" -L '^threads$'
}

# Programs with threads, and the library's own beside them, under the thread sanitizer, which bears
# neither the launcher's fork() nor libucm's hooks.
section_thread_programs() {
  local program transport progress status=0
  build release mpirun
  build tsan mpi_abi hawser_component_verbs softrdma_ibverbs multirank_{threads,stress,requests}
  for program in threads stress requests; do
    for transport in shm tcp verbs; do
      for progress in polling thread two_threads; do
        step "$program over $transport, $progress"
        if TSAN_OPTIONS="suppressions=$root/tests/multirank/thread_sanitizer.supp" \
          HAWSER_VERBS_ADAPTER=softrdma HAWSER_VERBS_REGISTRATION_CACHE=false \
          HAWSER_TRANSPORT=$transport HAWSER_WAIT_PROGRESS=$progress \
          at_fixed_addresses build/release/bin/mpirun -n 4 --timeout 200 \
          "build/tsan/tests/multirank/$program"; then
          record thread_programs 1 0 0
        else
          record thread_programs 0 1 0
          status=1
        fi
      done
    done
  done
  return $status
}

section_fuzz() {
  configure fuzz
  local targets target each status=0
  mapfile -t targets < <(ninja -C build/fuzz -t targets all |
    sed -n 's/^\(.*_fuzz\): CXX_EXECUTABLE_LINKER.*/\1/p')
  ((${#targets[@]})) || return 0
  compile fuzz "${targets[@]}"
  each=$((fuzz_seconds / ${#targets[@]} + 1))
  for target in "${targets[@]}"; do
    local corpus=build/fuzz/corpus/${target##*/}
    mkdir -p "$corpus"
    step "fuzz ${target##*/} for $each s"
    if "build/fuzz/$target" -max_total_time="$each" -timeout=10 -verbosity=0 -print_funcs=0 \
      -artifact_prefix="$corpus-" "$corpus"; then
      record fuzz 1 0 0
    else
      record fuzz 0 1 0
      status=1
    fi
  done
  return $status
}

section_mpi4py() {
  [[ -f launcher/CMakeLists.txt ]] || return 0
  setup_environment mpi4py
  "$python" tests/mpi4py/run.py --mpi build/release --environment build/venv/mpi4py \
    --counts "$results/mpi4py.counts"
}

# run_mpi4py_on_verbs SECTION VARIANT RANKS [MODULE…]: over queue pairs of softrdma.
run_mpi4py_on_verbs() {
  local section=$1 variant=$2 ranks=$3
  shift 3
  "$python" tests/mpi4py/run.py --mpi build/release --environment build/venv/mpi4py \
    --variant "$variant" --ranks "$ranks" --timeout 600 --counts "$results/$section.counts" "$@"
}

# A module of each kind of communication, with the channels that are earned by default and at once.
section_mpi4py_verbs() {
  local modules=(test_p2p_buf test_p2p_obj test_p2p_buf_part test_request test_cco_buf
    test_cco_nb_buf test_comm_inter) variant failed=0
  build release
  setup_environment mpi4py
  for variant in verbs verbs_earned; do
    run_mpi4py_on_verbs mpi4py_verbs "$variant" 2,4 "${modules[@]}" || failed=1
  done
  return $failed
}

section_mpi4py_verbs_all() {
  local variant failed=0
  build release
  setup_environment mpi4py
  for variant in verbs verbs_earned; do
    run_mpi4py_on_verbs mpi4py_verbs_all "$variant" 2,4,8 || failed=1
  done
  return $failed
}

section_tidy() {
  configure clang # its compile commands have no options that only GCC knows
  "$python" tools/lint/lint.py --build build/clang --only headers,tidy --tidy --all \
    --counts "$results/tidy.counts"
}

section_clang() {
  build clang
  ctest_section clang clang -L '^unit$'
}

section_many-seeds() {
  build release hawser_sim
  step "10000 seeds"
  build/release/sim/hawser_sim --seeds 10000 --each-at-least 20
  record many-seeds 1 0 0
}

# The tests of the release build whose names match.
section_matching() {
  build_tests release --name "$pattern"
  ctest_section matching release --no-tests=error -R "$pattern"
}

# attempt_section NAME: runs it, and keeps what it says where no terminal shows that to anybody.
attempt_section() (
  [[ -t 1 ]] || exec > >(tee "$results/logs/$1") 2>&1
  set -e
  "section_$1"
)

# run_section NAME: runs it whatever happened before, and adds a line to the table.
run_section() {
  local name=$1 began=$SECONDS status=0 files counts=(0 0 0)
  printf '\n── %s\n' "$name"
  set +e
  attempt_section "$name"
  status=$?
  set -e
  mapfile -t files < <(compgen -G "$results/$name.*" || true)
  read -ra counts < <("$python" tools/dev/tally.py "${files[@]}")
  ((status == 0 || counts[1] > 0)) || counts[1]=1
  ((counts[1] == 0)) || failures+=("$name")
  table+=("$name ${counts[*]} $((SECONDS - began))")
}

# What failed stands at the end too: of a long log often only the end is kept.
print_failures() {
  local name
  for name in "${failures[@]}"; do
    [[ -f $results/logs/$name ]] || continue
    printf '\n── %s failed; its last lines:\n' "$name"
    tail -n 30 "$results/logs/$name"
    [[ ! -f $results/$name.xml ]] || "$python" tools/dev/failed_cases.py "$results/$name.xml"
  done
}

print_table() {
  local row name passed failed skipped seconds totals=(0 0 0)
  printf '\n%-14s %8s %8s %8s %8s\n' section passed failed skipped seconds
  for row in "${table[@]}"; do
    read -r name passed failed skipped seconds <<<"$row"
    printf '%-14s %8d %8d %8d %8d\n' "$name" "$passed" "$failed" "$skipped" "$seconds"
    totals=($((totals[0] + passed)) $((totals[1] + failed)) $((totals[2] + skipped)))
  done
  printf '\n%d passed, %d failed, %d skipped\n' "${totals[@]}"
  ((totals[1] == 0))
}

# known_section NAME: NAME, if there is a section of that name.
known_section() {
  local known=("${sections[@]}" "${nightly_sections[@]}") name
  for name in "${known[@]}"; do
    [[ $name != "$1" ]] || { echo "$name" && return; }
  done
  fail "test: there is no section '$1', but: ${known[*]}"
}

command_test() {
  local table=() failures=() chosen=("${sections[@]}") picked=() pattern='' name
  while (($#)); do
    case $1 in
      --nightly)
        fuzz_seconds=1800
        mitigation_seeds=10000
        program_forms=(--all)
        chosen+=("${nightly_sections[@]}")
        ;;
      --section)
        shift
        picked+=("$(known_section "${1:-}")") || exit
        ;;
      -*) fail "test: unknown option '$1'" ;;
      *) pattern=$1 chosen=(matching) ;;
    esac
    shift
  done
  ((${#picked[@]} == 0)) || chosen=("${picked[@]}")
  setup_packages check
  rm -rf "$results"
  mkdir -p "$results/logs"
  for name in "${chosen[@]}"; do run_section "$name"; done
  print_failures
  print_table
}
