# What must be on the machine: Debian packages and private Python environments. Sourced by ./dev.

# Debian's own Python where there is one: python3-venv and python3-dev belong to it, while the
# first python3 on PATH may be another.
python=$([[ -x /usr/bin/python3 ]] && echo /usr/bin/python3 || echo python3)

# setup_packages build|check|peers: installs what is missing of tools/packages.txt; the latter two
# include `build`.
setup_packages() {
  local wanted=$1 missing=() package group _
  command -v dpkg-query >/dev/null || return 0 # not a Debian: CMake will say what it lacks
  while read -r package group _; do
    [[ -z $package || $package == '#'* ]] && continue
    [[ $group == build || $group == "$wanted" ]] || continue
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done <tools/packages.txt
  ((${#missing[@]} == 0)) && return

  local as_root=()
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then
      echo "dev: ${#missing[@]} Debian packages are missing. Please run:" >&2
      echo "  sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo -n)
  fi
  step "apt-get install ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# setup_environment NAME: build/venv/NAME out of tools/requirements/NAME.txt, made anew when that
# file or the Python changes.
setup_environment() {
  local name=$1 requirements=tools/requirements/$1.txt directory=build/venv/$1 key
  key=$({ "$python" --version; cat "$requirements"; } | sha256sum)
  [[ -f $directory/.ready && $(<"$directory/.ready") == "$key" ]] && return
  step "Python environment $directory"
  rm -rf "$directory"
  "$python" -m venv "$directory"
  "$directory/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
  printf '%s\n' "$key" >"$directory/.ready"
}
