# The rows of scripts/demo.sh, from the CSV of lido_bench_brief: how much faster Lido is than each peer.
BEGIN {
  FS = ","
  title["lido"] = "Lido"
  title["malloc"] = "malloc"
  title["floor"] = "" # only the page compares with the floor
  title["mutex_vector"] = "mutex + vector"
  title["boost_lockfree_stack"] = "boost::lockfree::stack"
}

/^name,/ {
  for (i = 1; i <= NF; ++i) if ($i == "\"ns_per_op\"") column = i
}

/_median"/ {
  split($1, parts, "/")
  ns[parts[2]] = $column
  runs = $2
  if (!(parts[2] in title) && (best == "" || $column < ns[best])) best = parts[2]
}

function row(who, note) {
  ratio = ns[who] / ns["lido"]
  printf "  %-24s %8.1f ns; Lido is %.1f times %s than %s%s\n", title[who], ns[who],
    (ratio >= 1 ? ratio : 1 / ratio), (ratio >= 1 ? "faster" : "slower"), title[who], note
}

END {
  if (!("lido" in ns)) {
    print "bench: nothing was measured" > "/dev/stderr"
    exit 1
  }
  print "Bench: 8 threads each acquire 256 objects of 64 bytes and release them; medians of " runs " runs"
  printf "  %-24s %8.1f ns for an acquire or a release\n", title["lido"], ns["lido"]
  if (best != "") {
    title[best] = best
    row(best, ", the fastest peer installed")
  }
  row("malloc", "")
  row("boost_lockfree_stack", "")
  row("mutex_vector", "")
}
