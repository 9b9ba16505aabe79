"""Calls the C interface of a shared library by ctypes, as a binding in another language would. Usage: LIBRARY VERSION"""
import ctypes
import sys
import threading

OK, NULL, OPTIONS, BLOCK_BYTES, ALIGNMENT, BLOCKS, NO_MEMORY, NOT_IN_USE = range(8)


class Options(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p if name == "name" else ctypes.c_size_t)
                for name in ("size", "block_bytes", "blocks", "alignment", "name", "flags")]


lido = ctypes.CDLL(sys.argv[1])
for name, result, arguments in [
        ("lido_pool_create", ctypes.c_int, [ctypes.POINTER(Options), ctypes.POINTER(ctypes.c_void_p)]),
        ("lido_pool_destroy", ctypes.c_int, [ctypes.c_void_p]),
        ("lido_pool_acquire", ctypes.c_void_p, [ctypes.c_void_p]),
        ("lido_pool_release", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
        ("lido_pool_in_use", ctypes.c_size_t, [ctypes.c_void_p]),
        ("lido_pool_capacity", ctypes.c_size_t, [ctypes.c_void_p]),
        ("lido_error_text", ctypes.c_char_p, [ctypes.c_int]),
        ("lido_version", ctypes.c_int, [])]:
    function = getattr(lido, name)
    function.restype, function.argtypes = result, arguments


def create(**options: object) -> tuple[int, ctypes.c_void_p]:
    pool = ctypes.c_void_p()
    return lido.lido_pool_create(Options(size=ctypes.sizeof(Options), **options), ctypes.byref(pool)), pool


def use(pool: ctypes.c_void_p, problems: list[str]) -> None:
    """ctypes lets other Python threads run during each call."""
    for _ in range(300):
        held = [lido.lido_pool_acquire(pool) for _ in range(10)]
        if None in held or len(set(held)) != 10:
            problems.append(f"got {held}")
        for block in held:
            ctypes.memset(block, 1, 24)
            if lido.lido_pool_release(pool, block) != OK:
                problems.append(f"a release of {block} is refused")


def main() -> None:
    assert lido.lido_version() == int(sys.argv[2]), lido.lido_version()
    for options, error in [(dict(blocks=8), BLOCK_BYTES), (dict(block_bytes=8), BLOCKS),
                           (dict(block_bytes=8, blocks=8, alignment=3), ALIGNMENT),
                           (dict(block_bytes=2**62, blocks=4), NO_MEMORY),
                           (dict(block_bytes=8, blocks=8, flags=64), OPTIONS)]:
        result, pool = create(**options)
        assert (result, pool.value) == (error, None), (options, result, lido.lido_error_text(result))
    error, pool = create(block_bytes=24, blocks=40, name=b"of Python")
    assert error == OK, lido.lido_error_text(error)
    problems: list[str] = []
    threads = [threading.Thread(target=use, args=(pool, problems)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[0]
    held = [lido.lido_pool_acquire(pool) for _ in range(41)]
    assert None not in held[:40] and held[40] is None and len(set(held)) == 41
    assert lido.lido_pool_in_use(pool) == lido.lido_pool_capacity(pool) == 40
    assert lido.lido_pool_release(pool, id(pool)) == NOT_IN_USE
    assert lido.lido_pool_destroy(pool) == OK
    assert lido.lido_pool_destroy(None) == NULL


main()
