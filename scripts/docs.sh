#!/usr/bin/env bash
# Builds the site of the documentation: pages, API reference and search. Any file server can serve the folder, offline.
# Usage: scripts/docs.sh [--no-install] [--check]    the site is build/site
#   --no-install  installs neither packages of Debian nor packages of npm
#   --check       also opens the site in Chromium: links, search, widths, contrast, keyboard; screenshots in build/site-shots
# Exit status 1 if a link is dead, if a public name has no sentence in the API reference, or if a check fails. Also if a
# declaration in the API reference differs from the headers.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

install=yes
check=no
for argument in "$@"; do
  case $argument in
    --no-install) install=no ;;
    --check) check=yes ;;
    *) sed -n '3,7s/^# //p' "$0" >&2; exit 2 ;;
  esac
done

log=$PWD/build/docs.log
tools=$PWD/build/site-tools
mkdir -p build
: >"$log"

need() { # command or file, what it is
  command -v "$1" >/dev/null || [ -e "$1" ] || { echo "docs: $2 is missing; scripts/setup.sh docs installs it" >&2; exit 1; }
}

quietly() { # what, command...
  local what=$1
  shift
  "$@" >>"$log" 2>&1 || { tail -n 30 "$log" >&2; echo "docs: $what failed (log in $log)" >&2; exit 1; }
}

link_page() { # page that the contention report names, without .md
  grep -q "<code>$1.md</code>" build/site.new/report/index.html || { echo "docs: the contention report does not name $1.md" >&2; exit 1; }
  sed -i "s|<code>$1.md</code>|<a href=\"../$1.html\"><code>$1.md</code></a>|" build/site.new/report/index.html
}

[ $install = no ] || scripts/setup.sh docs
need doxygen Doxygen
need node Node.js
need python3 "Python 3"
need "$tools/installed" "a package of npm"

status=0
rm -rf build/site-api build/site-pages build/site.new
mkdir -p build/site-api
quietly "Doxygen" doxygen docs/site/Doxyfile
python3 -B docs/site/reference.py build/site-api/xml "$tools/node_modules/.bin/moxygen" build/site-api/pages || status=1
python3 -B docs/site/pages.py build/site-api/pages build/site-pages
python3 -B docs/site/faults.py build/site-api/xml build/site-pages/api || status=1
ln -s "$tools/node_modules" build/site-pages/node_modules
quietly "VitePress" "$tools/node_modules/.bin/vitepress" build build/site-pages --outDir "$PWD/build/site.new"
quietly "the contention report" python3 -B bench/report/page.py docs/explanation/contention.json.gz build/site.new/report
link_page docs/explanation/benchmarks
link_page bench/README
rm -rf build/site
mv build/site.new build/site
[ $check = no ] || node docs/site/check.mjs build/site build/site-shots || status=1
echo "docs: the site is in build/site"
exit $status
