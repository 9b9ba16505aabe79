"""Lido in gdb: `source lido.py`, then `print pool` and `lido-pools`. Calls nothing, so a core dump will do."""
import re

import gdb
import gdb.printing

THREAD_STRIDE, KEPT_STEPS = 1024, 8  # from thread_number.hpp and slot_record.hpp
FROZEN, IN_USE = 0, 3  # from slot_cache::phase and resource_state
NO_SLOT = 0xFFFFFFFF  # from slot_index.hpp
NAMED_POOLS = "'lido::v0::detail::(anonymous namespace)::named_pools'"
UNREADABLE = (gdb.error, RuntimeError, TypeError)  # raised by gdb if a type or a symbol is unknown
HINT = "are Lido and the program built with -g?"


def as_type(address, name):
    """Returns the object at an address, as an internal type of Lido."""
    return address.cast(gdb.lookup_type("lido::v0::detail::" + name).pointer()).dereference()


def inner(value):
    """Returns the first member of an atomic, a `relaxed`, an array or a smart pointer, in any standard library."""
    kind = value.type.strip_typedefs()
    held = kind.template_argument(0)
    if re.match(r"std::(\w+::)?(unique|shared)_ptr<", kind.name):
        held = (held.target() if held.code == gdb.TYPE_CODE_ARRAY else held).pointer()
    return value.address.cast(held.pointer()).dereference()


def text(value):
    """Returns the text of a string or string_view; in libraries other than libstdc++, as gdb prints it."""
    members = {field.name for field in value.type.strip_typedefs().fields()}
    if "_M_str" in members:
        return value["_M_str"].string(length=int(value["_M_len"]))
    if "_M_dataplus" in members:
        return value["_M_dataplus"]["_M_p"].string(length=int(value["_M_string_length"]))
    return value.format_string().strip('"')


def items(vector):
    """Returns a pointer to the first element and the size of a std::vector of libstdc++."""
    first, last = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    return first, int(last - first)


def slots_of(allocator):
    """Returns slots in use, capacity and waiting threads of a slot_allocator."""
    state = allocator["state_"].dereference()
    table = inner(state["table_"].referenced_value())
    drawn, cached = int(inner(state["drawn_uncached_"])), 0
    for number in range(1, int(inner(state["highest_"])) + 1):
        cache = as_type(table + number * THREAD_STRIDE, "owned_cache")
        drawn += int(inner(cache["drawn"]))
        if int(inner(cache["control_"])) & 3 == FROZEN:
            continue
        # Offsets are relative to the cache. A top that lies outside the cells belongs to no item.
        items = (int(inner(cache["top_"])) - int(inner(cache["base_"]))) // 8
        if str(state["kind_"]).endswith("locked"):
            items = int(inner(cache["count_"]))
        cached += items if 0 <= items <= int(inner(cache["cell_count_"])) else 0
    return max(drawn - cached, 0), int(inner(state["capacity_"])), int(inner(state["waiters_"]["length_"]))


def kernel_of(core):
    return inner(inner(core["shell_"])["kernel_"])


def resource_slots(core):
    """Yields the slots of a pool_core that are in use."""
    block = inner(kernel_of(core)["table"]["first_"])
    while block:
        for index in range(int(block["size"])):
            slot = as_type(gdb.Value(int(block["first"]) + index * int(block["stride"])), "pool_slot")
            if int(inner(slot["word_"])) & 7 == IN_USE:
                yield slot
        block = inner(block["next"])


def resources_of(core):
    kernel = kernel_of(core)
    groups, count = items(kernel["groups_"]["groups_"])
    waiting = capacity = 0
    for index in range(count):
        group = inner((groups + index).dereference())
        waiting += int(group["queue"]["size_"])
        capacity += int(group["limits"]["max_size"])
    if not core["groups_"]["main_"]:
        capacity = int(kernel["quota_"]["max_total_"])
    return sum(1 for _ in resource_slots(core)), capacity, waiting


def checked_uses(first):
    """Yields thread and code address of each use of the checked pool whose slots begin at `first`."""
    trace = gdb.parse_and_eval("'lido::v0::detail::(anonymous namespace)::live_pools'")
    while trace and trace["first"] != first:
        trace = trace["next"]
    for index in range(int(trace["capacity"]) if trace else 0):
        record = as_type(trace["pool"], "checked_slots")["records_"][index]
        step = int(inner(record["steps_"]))
        if step % 2 != 0:
            thread, code_address = (inner(record[one]).address + step % KEPT_STEPS for one in ("threads_", "code_addresses_"))
            yield int(inner(thread.dereference())), int(inner(code_address.dereference()))


def where(address):
    """Returns the innermost function of the user at a code address, inlined or not, and the line in that function."""
    block, line, found = gdb.block_for_pc(address), gdb.find_pc_line(address), None
    file, line = line.symtab and line.symtab.filename, line.line
    while block and not (block.is_static or block.is_global):
        function = block.function
        if function:
            found = f"{function.name} ({file}:{line})"
            if not (re.match(r"(lido|std|__gnu_cxx)::", function.name)
                    or re.search(r"/(include/lido|include/c\+\+|c\+\+/v1)/", file)):
                break
            # For an inlined function, gdb knows the place of the call in the function around it.
            file, line = function.symtab.filename, function.line
        block = block.superblock
    return found or gdb.execute(f"info symbol {address}", to_string=True).strip()


def holder(thread, address):
    numbers = [one.num for one in gdb.selected_inferior().threads() if one.ptid[1] == thread]
    name = f"thread {numbers[0]} (LWP {thread})" if numbers else f"LWP {thread}, which has ended"
    return f"held by {name if thread else 'some thread'}, from {where(address) if address else 'somewhere'}"


def describe(entry):
    """Returns the statistics of a registered pool, and thread and code address of each known use."""
    kind, pool = text(entry["kind_"]), entry["pool_"]
    if kind.endswith("resource_pool"):
        core = as_type(pool, "pool_core")
        uses = ((int(inner(slot["lease"]["thread"])), int(inner(slot["lease"]["address"]))) for slot in resource_slots(core))
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
        registry = argument or "lido::registry::global()"
        try:
            oldest = gdb.parse_and_eval(argument or NAMED_POOLS)["oldest_"]
            if not oldest:
                print(f"no pool has .registry = &{registry}")
            self.list(oldest)
        except UNREADABLE as error:
            if not argument and str(error).startswith("No symbol"):  # as in a program without a registry
                error = f"no pool has .registry = &{registry}, or no symbol says so"
            raise gdb.GdbError(f"lido-pools: {error} ({HINT})") from error

    @staticmethod
    def list(entry):
        while entry:
            (used, capacity, waiting), uses = describe(entry)
            print(f"{int(entry['number_'])} {text(entry['kind_'])} '{text(entry['name_'])}': "
                  f"{used}/{capacity} in use, {waiting} waiting")
            for thread, address in uses:
                print("    " + holder(thread, address))
            entry = entry["newer_"]


def numbers(name, all_slots):
    return f"'{text(name)}': " + ", ".join(f"{used}/{capacity} in use" for used, capacity, _ in all_slots)


def object_pool(value):
    members = {field.name for field in value.type.strip_typedefs().fields()}
    name = value["name_"] if "name_" in members else value["slots_"]["name_"]
    return numbers(name, [slots_of(as_type(value["slots_"].address, "slot_allocator"))])


def resource_pool(value):
    core = inner(value["core_"]).dereference()
    return numbers(core["settings_"]["pool_name"], [resources_of(core)])


def block_resource(value):
    larger = value["larger_"]
    stores = [value["smallest_"]] + [larger["stores_"][index] for index in range(int(larger["count_"]))]
    all_slots = [slots_of(store["slots_"]) for store in stores]
    return numbers(value["name_"], all_slots)


def block_allocator(value):
    return "allocator of " + block_resource(value["resource_"].dereference())


def registry(value):
    count, entry = 0, value["oldest_"]
    while entry:
        count, entry = count + 1, entry["newer_"]
    return f"registry of {count} pools"


def lease(value):
    held = value["grant_"]["slot"] if "resource_lease<" in value.type.strip_typedefs().name else value["object_"]
    return f"lease of {held.format_string(symbols=False)}" if held else "empty lease"


def acquire_result(value):
    held = lease(value["lease_"])
    return held if held != "empty lease" else f"no lease: {value['cause_']}"


def resource_handle(value):
    return f"resource {int(value['index'])}, birth {int(value['birth'])}" if value["birth"] else "no resource"


def time_limit(value):
    return f"{int(value['__r'])} ns"


def handle_text(bits):
    return f"slot {bits & 0xFFFFFFFF}, generation {bits >> 32}"


def slot_handle(value):
    bits = int(value["bits_"])
    return f"{handle_text(bits)} ({bits:#x})" if bits else "null handle"


def slot_pointer(value):
    return "pointer to " + slot_handle(value["handle_"]) if value["map_"] else "null pointer"


def handle_at(store, index):
    slot = int(store["array_"]["slots_"][index])
    return handle_text(int(items(store["table_"]["words_"])[0][slot]) >> 32 << 32 | slot)


def slot_map_iterator(value):
    if not value["map_"] or int(value["index_"]) == NO_SLOT:
        return "end"
    return "at " + handle_at(value["map_"]["store_"], int(value["index_"]))


def slot_map(value):
    store = value["store_"]
    return f"'{text(value['name_'])}': {int(store['end_']) - int(store['holes_'])} values"


def values_of_slot_map(value):
    store = value["store_"]
    array = store["array_"]
    for index in range(int(store["end_"])):
        if not int(array["holes_"][index // 64]) >> index % 64 & 1:
            yield f"[{handle_at(store, index)}]", array["values_"][index]


def secondary_map(value):
    return f"{items(value['handles_'])[1]} entries"


def values_of_secondary_map(value):
    handles, count = items(value["handles_"])
    for position in range(count):
        yield f"[{handle_text(int(handles[position]['bits_']))}]", value["values_"]["data_"][position]


class Printer:
    """Prints a value as one line, which a function returns. Prints an explanation if gdb knows too little."""

    def __init__(self, value):
        is_reference = value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
        self.value = value.referenced_value() if is_reference else value

    def to_string(self):
        try:
            return self.in_words(self.value)
        except UNREADABLE as error:
            return f"not readable: {error} ({HINT})"


class MapPrinter(Printer):
    """Prints one line for the map, and then each value with its handle."""

    def children(self):
        try:
            yield from self.values(self.value)
        except UNREADABLE:
            return


PRINTERS = gdb.printing.RegexpCollectionPrettyPrinter("lido")
for in_words, kind in (
        (object_pool, r"(object_pool|concurrent_slot_map)<"), (resource_pool, r"(keyed_)?resource_pool<"),
        (block_resource, "block_resource$"), (block_allocator, "block_allocator<"), (registry, "registry$"),
        (lease, "(resource_)?lease<"), (acquire_result, "acquire_result<"), (resource_handle, "resource_handle$"),
        (time_limit, "time_limit$"), (slot_handle, "slot_handle<"), (slot_pointer, "slot_pointer<"),
        (slot_map_iterator, "slot_map_iterator<"), (slot_map, "slot_map<"), (secondary_map, "secondary_map<")):
    more = {"slot_map": values_of_slot_map, "secondary_map": values_of_secondary_map}.get(in_words.__name__)
    members = {"in_words": staticmethod(in_words), **({"values": staticmethod(more)} if more else {})}
    PRINTERS.add_printer(in_words.__name__, "^lido::v0::" + kind, type("", (MapPrinter if more else Printer,), members))
gdb.printing.register_pretty_printer(None, PRINTERS, replace=True)
ListPools()
