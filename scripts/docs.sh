#!/usr/bin/env bash
# Builds the site of the documentation: pages, API reference and search. Any file server can serve the folder, offline.
# Usage: scripts/docs.sh [--no-install] [--check]    the site is build/site
#   --no-install  installs neither packages of Debian nor packages of npm
#   --check       also opens the site in Chromium: links, search, widths, contrast, keyboard; screenshots in build/site-shots
# LIDO_SITE_BASE is the folder of the server that will have the site, such as /lido/; without it the site is the whole server.
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
    *) sed -n '3,8s/^# //p' "$0" >&2; exit 2 ;;
  esac
done

base=${LIDO_SITE_BASE:-/}
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

link_page() { # site, page that the contention report names, without .md
  grep -q "<code>$2.md</code>" "$1/report/index.html" || { echo "docs: the contention report does not name $2.md" >&2; exit 1; }
  sed -i "s|<code>$2.md</code>|<a href=\"../$2.html\"><code>$2.md</code></a>|" "$1/report/index.html"
}

write_site() { # folder
  quietly "VitePress" "$tools/node_modules/.bin/vitepress" build build/site-pages --outDir "$PWD/$1"
  quietly "the contention report" python3 -B bench/report/page.py docs/explanation/contention.json.gz "$1/report"
  link_page "$1" docs/explanation/benchmarks
  link_page "$1" bench/README
}

check_subfolder() { # the site as a forge serves it, below the name of the project
  LIDO_SITE_BASE=/lido/ write_site build/site-subfolder
  node docs/site/check.mjs build/site-subfolder /lido/
}

[ $install = no ] || scripts/setup.sh docs
need doxygen Doxygen
need node Node.js
need python3 "Python 3"
need "$tools/installed" "a package of npm"

status=0
rm -rf build/site-api build/site-pages build/site.new build/site-subfolder
mkdir -p build/site-api
quietly "Doxygen" doxygen docs/site/Doxyfile
python3 -B docs/site/reference.py build/site-api/xml "$tools/node_modules/.bin/moxygen" build/site-api/pages || status=1
python3 -B docs/site/pages.py build/site-api/pages build/site-pages
python3 -B docs/site/faults.py build/site-api/xml build/site-pages/api || status=1
ln -s "$tools/node_modules" build/site-pages/node_modules
write_site build/site.new
rm -rf build/site
mv build/site.new build/site
if [ $check = yes ]; then
  node docs/site/check.mjs build/site "$base" build/site-shots || status=1
  [ "$base" != / ] || check_subfolder || status=1
fi
echo "docs: the site is in build/site"
exit $status
