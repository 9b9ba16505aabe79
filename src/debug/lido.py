"""Lido's pools in gdb: `source lido.py`, then `print pool` and `lido-pools`. Calls nothing, so a core dump will do."""
import re

import gdb
import gdb.printing

THREAD_STRIDE, KEPT_USES = 1024, 4  # of thread_number.hpp and slot_record.hpp
FROZEN, IN_USE = 0, 3  # of slot_cache::phase and resource_state
NAMED_POOLS = "'lido::detail::(anonymous namespace)::named_pools'"


def as_type(address, name):
    """What lies at an address, as a type of lido::detail."""
    return address.cast(gdb.lookup_type("lido::detail::" + name).pointer()).dereference()


def inner(value):
    """What an atomic, a `relaxed`, an array or a smart pointer begins with, in any standard library."""
    kind = value.type.strip_typedefs()
    held = kind.template_argument(0)
    if re.match(r"std::(\w+::)?(unique|shared)_ptr<", kind.name):
        held = (held.target() if held.code == gdb.TYPE_CODE_ARRAY else held).pointer()
    return value.address.cast(held.pointer()).dereference()


def text(value):
    """A string or string_view of libstdc++; one of another library as gdb prints it."""
    members = {field.name for field in value.type.strip_typedefs().fields()}
    if "_M_str" in members:
        return value["_M_str"].string(length=int(value["_M_len"]))
    if "_M_dataplus" in members:
        return value["_M_dataplus"]["_M_p"].string(length=int(value["_M_string_length"]))
    return value.format_string().strip('"')


def slots_of(allocator):
    """In use, capacity and waiting threads of a slot_allocator."""
    state = allocator["state_"].dereference()
    table = inner(allocator["table_"])
    drawn, cached = int(inner(state["drawn_uncached_"])), 0
    for number in range(1, int(inner(state["highest_"])) + 1):
        cache = as_type(table + number * THREAD_STRIDE, "owned_cache")
        drawn += int(inner(cache["drawn"]))
        if int(inner(cache["control_"])) & 3 == FROZEN:
            continue
        # A place is a distance from the cache; one outside of the cells is that of no item.
        items = (int(inner(cache["top_"])) - int(inner(cache["base_"]))) // 8
        if str(state["kind_"]).endswith("locked"):
            items = int(inner(cache["count_"]))
        cached += items if 0 <= items <= int(inner(cache["room_"])) else 0
    return max(drawn - cached, 0), int(inner(state["capacity_"])), int(inner(state["waiters_"]["length_"]))


def resource_slots(core):
    """The slots of a pool_core that are in use."""
    block = inner(inner(core["state_"])["table"]["first_"])
    while block:
        for index in range(int(block["size"])):
            slot = as_type(gdb.Value(int(block["first"]) + index * int(block["stride"])), "pool_slot")
            if int(inner(slot["word_"])) & 7 == IN_USE:
                yield slot
        block = inner(block["next"])


def resources_of(core):
    state = inner(core["state_"])
    groups = state["groups_"]["_M_impl"]
    waiting = capacity = 0
    for index in range(int(groups["_M_finish"] - groups["_M_start"])):
        group = inner((groups["_M_start"] + index).dereference())
        waiting += int(group["queue"]["size_"])
        capacity += int(group["limits"]["max_size"])
    if not core["main_"]:
        capacity = int(state["room_"]["max_total_"])
    return sum(1 for _ in resource_slots(core)), capacity, waiting


def checked_uses(first):
    """Thread and address of each use of a checked pool whose slots begin there."""
    trace = gdb.parse_and_eval("'lido::detail::(anonymous namespace)::live_pools'")
    while trace and trace["first"] != first:
        trace = trace["next"]
    for index in range(int(trace["capacity"]) if trace else 0):
        record = inner(as_type(trace["pool"], "checked_slots")["records_"])[index]
        use = int(inner(record["uses_"]))
        if use > max(int(inner(record["ended_"])), int(inner(record["claimed_"]))):
            thread, place = (inner(record[one]).address + use % KEPT_USES for one in ("threads_", "acquired_at_"))
            yield int(inner(thread.dereference())) & 0xFFFFFFFF, int(inner(place.dereference()))


def where(address):
    """The function that an address is in, and the line in it where something was inlined there."""
    block = gdb.block_for_pc(address)
    while block and not (block.function and block.superblock.is_static):
        block = block.superblock
    if not block:
        return gdb.execute(f"info symbol {address}", to_string=True).strip()
    function = block.function
    rows = [row for row in function.symtab.linetable() if block.start <= row.pc < block.end and row.line]
    # The last one before, unless that is the head of the function.
    line = max((row for row in rows if row.pc <= address), key=lambda row: row.pc, default=function).line
    if line <= function.line:
        line = min((row for row in rows if row.pc > address), key=lambda row: row.pc, default=function).line
    return f"{function.name} ({function.symtab.filename}:{line})"


def holder(thread, address):
    numbers = [one.num for one in gdb.selected_inferior().threads() if one.ptid[1] == thread]
    name = f"thread {numbers[0]} (LWP {thread})" if numbers else f"LWP {thread}, which has ended"
    return f"held by {name if thread else 'some thread'}, from {where(address) if address else 'somewhere'}"


def describe(entry):
    """Numbers of a pool in a registry, and thread and address of each use that is known."""
    kind, pool = text(entry["kind_"]), entry["pool_"]
    if kind.endswith("resource_pool"):
        core = as_type(pool, "pool_core")
        uses = ((int(inner(slot["thread"])), int(inner(slot["address"]))) for slot in resource_slots(core))
        return resources_of(core), uses
    if kind == "concurrent_slot_map":
        return slots_of(as_type(pool, "slot_allocator")), []
    if kind == "block_resource":
        store = as_type(pool, "block_store")
        return slots_of(store["slots_"]), checked_uses(store["first_"])
    first = as_type(pool, "pool_slots")["memory_"]["first_"]
    return slots_of(as_type(pool, "slot_allocator")), checked_uses(first)


class ListPools(gdb.Command):
    """lido-pools [REGISTRY]: the pools of lido::registry::global(), or of another one, and their holders."""

    def __init__(self):
        super().__init__("lido-pools", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        try:
            self.list(gdb.parse_and_eval(argument or NAMED_POOLS)["oldest_"])
        except gdb.error as error:
            raise gdb.GdbError(f"lido-pools: {error} (are Lido and the program built with -g?)") from error

    @staticmethod
    def list(entry):
        while entry:
            (used, capacity, waiting), uses = describe(entry)
            print(f"{int(entry['number_'])} {text(entry['kind_'])} '{text(entry['name_'])}': "
                  f"{used}/{capacity} in use, {waiting} waiting")
            for thread, address in uses:
                print("    " + holder(thread, address))
            entry = entry["newer_"]


class Printer:
    def __init__(self, value):
        self.value, self.kind = value, value.type.strip_typedefs().name

    def to_string(self):
        value = self.value
        if "lease<" in self.kind:
            held = value["grant_"]["slot"] if "resource_lease" in self.kind else value["object_"]
            return f"lease of {held.format_string(symbols=False)}" if held else "empty lease"
        if "resource_pool<" in self.kind:
            core = inner(value["core_"]).dereference()
            name, numbers = core["settings_"]["pool_name"], [resources_of(core)]
        elif self.kind == "lido::block_resource":
            name, store, numbers = value["name_"], value["smallest_"].address, []
            while store:
                numbers.append(slots_of(store["slots_"]))
                store = inner(store["larger_"])
        else:
            name = value["slots_"]["name_"] if "object_pool<" in self.kind else value["name_"]
            numbers = [slots_of(as_type(value["slots_"].address, "slot_allocator"))]
        return f"'{text(name)}': " + ", ".join(f"{used}/{capacity} in use" for used, capacity, _ in numbers)


PRINTERS = gdb.printing.RegexpCollectionPrettyPrinter("lido")
PRINTERS.add_printer("blocks", r"^lido::block_resource$", Printer)
PRINTERS.add_printer("pools", r"^lido::(object_pool|(keyed_)?resource_pool|concurrent_slot_map)<", Printer)
PRINTERS.add_printer("leases", r"^lido::(resource_)?lease<", Printer)
gdb.printing.register_pretty_printer(None, PRINTERS, replace=True)
ListPools()
