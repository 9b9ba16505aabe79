"""The summary that begins the contention report, computed from a run, and no stronger than its numbers allow."""
import tables

PHRASES = {"burst": "bursts of 256", "handoff": "hand-off between threads"}
LEAST_REPETITIONS = 3  # with fewer the spread is not known
DISTURBED = "These numbers allow no ranking: they were disturbed."
THIN = f"These numbers allow no ranking: fewer than {LEAST_REPETITIONS} repetitions do not tell how far they spread."


def threads_for(rows, workload):
    """Returns eight threads, or the most measured."""
    counts = {row["threads"] for row in rows if row["workload"] == workload and row["contender"] == "lido"}
    return 8 if 8 in counts else max(counts, default=0)


def amount(ratio):
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def of_workload(rows, workload, threads):
    """Returns Lido beside the fastest peer whose acquires did not fail; None without either."""
    cells = {row["contender"]: row for row in rows if row["workload"] == workload and row["threads"] == threads and row["ns"]}
    peers = [row for name, row in cells.items() if name not in tables.OWN and not row["failed"]]
    own = cells.get("lido")
    if not own or not peers or min(row["repetitions"] for row in [own, *peers]) < LEAST_REPETITIONS:
        return None
    best = min(peers, key=lambda row: row["ns"])
    of = f"{best['contender']}, the fastest of {len(peers)} peers" if len(peers) > 1 else best["contender"]
    if own["low"] <= best["high"] and best["low"] <= own["high"]:
        return f"is level with {of}, in {PHRASES[workload]}, since their repetitions overlap"
    return f"takes {amount(own['ns'] / best['ns'])} times as long as {of}, in {PHRASES[workload]}"


def sentence(rows, disturbed):
    """Returns an empty text if a run has no contention, or no peer."""
    found = [(threads, workload) for workload in PHRASES if (threads := threads_for(rows, workload)) > 1]
    if not found or not any(row["contender"] not in tables.OWN for row in rows):
        return ""
    if disturbed:
        return DISTURBED
    said = [(threads, of_workload(rows, workload, threads)) for threads, workload in found]
    said = [(threads, text) for threads, text in said if text]
    if not said:
        return THIN
    if len({threads for threads, _ in said}) == 1:
        return f"On {said[0][0]} threads Lido " + ", and it ".join(text for _, text in said) + "."
    return "Lido " + ", and it ".join(f"{text} on {threads} threads" for threads, text in said) + "."


def warning(said, disturbed):
    """Returns what the ranking begins with, given the summary; an empty text if the numbers allow a ranking."""
    if disturbed:
        return f"{DISTURBED} A contender may even seem faster than the floor."
    return said if said == THIN else ""
