# Configuring and building presets. Sourced by ./dev.

# What ccache must know: trees in other folders share their objects, and precompiled headers count.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=true
export CCACHE_SLOPPINESS=pch_defines,time_macros

# configure PRESET: always run; CMake finds in a second that nothing has changed.
configure() {
  local preset=$1 log=build/$1.configure.log launcher=()
  mkdir -p build
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  step "configure $preset"
  if ! cmake --preset "$preset" "${launcher[@]}" -DHAWSER_MPICH_PREFIX="$root/build/venv/mpich" \
    >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
}

# build [PRESET [TARGET…]]
build() {
  configure "${1:-release}"
  compile "$@"
}

# compile [PRESET [TARGET…]]: what is configured already.
compile() {
  local preset=${1:-release} quiet=()
  shift || true
  step "build $preset"
  [[ -t 1 ]] || quiet=(--quiet) # a log wants the failures only
  ninja "${quiet[@]}" -j "$jobs" -C "build/$preset" "$@"
}

# build_tests PRESET (--labels LABEL… | --name REGEX): only the programs that these tests run.
build_tests() {
  local preset=$1 targets
  shift
  configure "$preset"
  mapfile -t targets < <("$python" tools/dev/ctest_targets.py "build/$preset" "$@")
  ((${#targets[@]} == 0)) || compile "$preset" "${targets[@]}"
}
