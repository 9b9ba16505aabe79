#!/usr/bin/env python3
"""Only compiler.hpp and the folders of src/platform/ know a compiler; all else is standard C++, also behind windows.h."""
import re
import sys
from pathlib import Path

from check_common import Outline, files_below, is_cpp, line_of, mask, run

COMPILER = Path("include/lido/platform/compiler.hpp")
SYSTEMS = Path("src/platform")
# Apart from what the standard defines, what sanitizers call their functions everywhere, and macros of libstdc++ that say
# in which mode it is: no other library has those modes.
RESERVED = re.compile(r"\b(?!__(?:cplusplus|cpp_\w+|has_include|has_cpp_attribute|VA_ARGS__|VA_OPT__|FILE__|LINE__|asan_\w+)\b"
                      r"|_GLIBCXX_)(?:__\w+|_[A-Z]\w*|\w+__\w*)\b")
# Of Windows: each of these includes windows.h or wants it first. Connections need the names of sockets.
SYSTEM_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](?:windows|winsock2?|ws2tcpip|mstcpip|mswsock|winternl|psapi|dbghelp'
                           r'|processthreadsapi|synchapi|memoryapi|fibersapi|windef|winbase|winnt)\.h[>"]', re.M | re.I)
SOCKETS = (Path("include/lido/connect/dial.hpp"), Path("src/connect/sockets_windows.hpp"))
NAMESPACES = re.compile(r"\b(?:gnu|clang|msvc)\s*::")
ASM = re.compile(r"\basm\b")
NO_ADDRESS = re.compile(r"\bno_unique_address\b")  # which cl ignores
PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(?!once\b|(?:push|pop)_macro\b)\w.*", re.M)
ASSERT = Path("include/lido/base/assert.hpp")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(LIDO_\w+)", re.M)
# Macros of windows.h that could be names here. Those with arguments, min and max, take effect only before a bracket.
WINDOWS = re.compile(
    r"\b(?:cdecl|environ|far|huge|hyper|interface|near|pascal|small|s_(?:addr|host|imp|impno|lh|net)"
    r"|(?:chx|cmb|ctl|edt|frm|grp|ico|lst|psh|rad|rct|scr|stc)\d+|h_addr|timer(?:clear|cmp|isset)|Yield"
    r"|ABSOLUTE|ALTERNATE|ARRAYSIZE|BOOL|BYTE|CALLBACK|CONST|DELETE|DIFFERENCE|DOMAIN|DUPLICATE|ERROR|FAILED|FALSE|FAR"
    r"|IGNORE|IN|INFINITE|INTERFACE|INVALID|NEAR|NOERROR|NULL|OPAQUE|OPTIONAL|OUT|OVERFLOW|PASCAL|PLANES|PURE|RELATIVE"
    r"|STRICT|SUCCEEDED|TEXT|THIS|TRANSPARENT|TRUE|UNALIGNED|UNDERFLOW|VOID|WINDING)\b"
    r"|\b(?:min|max)(?=\s*\()")


def knows_compiler(file: Path) -> bool:
    """What src/platform/generic asks for, any system has."""
    return file == COMPILER or (file.is_relative_to(SYSTEMS) and file.parent not in (SYSTEMS, SYSTEMS / "generic"))


def check_extensions(file: Path, code: str) -> list[str]:
    errors = []
    for pattern, what in ((NAMESPACES, "an attribute of a compiler"), (RESERVED, "a name of a compiler"),
                          (ASM, "assembler"), (NO_ADDRESS, "an attribute that cl ignores"), (PRAGMA, "a pragma")):
        errors += [f"{file}:{line_of(code, match.start())}: {what}, {match[0].strip()}, belongs in {COMPILER}"
                   for match in pattern.finditer(code)]
    errors += [f"{file}:{line_of(code, match.start())}: {match[0]} is a macro of windows.h; "
               f"{'write (std::min)(a, b)' if match[0] in ('min', 'max') else 'use another name'}"
               for match in WINDOWS.finditer(code)]
    return errors


def check_headers(file: Path, text: str) -> list[str]:
    if file in SOCKETS or file.parent == SYSTEMS / "windows":
        return []
    return [f"{file}:{line_of(text, match.start())}: {match[0].strip()} belongs in {SYSTEMS / 'windows'}; only {SOCKETS[0]} "
            "includes those of sockets" for match in SYSTEM_HEADER.finditer(text)]


def check_macros(file: Path, text: str, macros: list[str]) -> list[str]:
    """A macro that is not defined reads as 0 in a condition, so nothing else would say that it is missing."""
    code = mask(text)
    if not macros or f'#include "{COMPILER.relative_to("include")}"' in text:
        return []
    match = re.search(rf"\b(?:{'|'.join(macros)})\b", code)
    return [f"{file}:{line_of(code, match.start())}: {match[0]} without an include of {COMPILER.name}"] if match else []


def check_asserts(file: Path, text: str) -> list[str]:
    """A file with assertions and one without may be linked together, so each has functions of its own."""
    if "LIDO_ASSERT(" not in text or not file.is_relative_to("include") or file == ASSERT:
        return []
    outline = Outline(text)
    errors = []
    for function in outline.functions():
        head, body = outline.code[function.head:function.open], outline.code[function.open:function.close]
        if "LIDO_ASSERT(" in body and not re.search(r"\bLIDO_(?:ASSERTS|ALWAYS_INLINE|FAST_PATH)\b", head):
            errors.append(f"{file}:{line_of(text, function.head)}: a function with LIDO_ASSERT is marked LIDO_ASSERTS")
    return errors


def check(root: Path) -> tuple[int, list[str]]:
    files = [f.relative_to(root) for f in files_below(root, ["include", "src"], is_cpp)]
    compiler = root / COMPILER
    macros = sorted(set(MACRO.findall(compiler.read_text(encoding="utf-8")))) if compiler.exists() else []
    errors = []
    for file in files:
        if file == COMPILER:
            continue
        text = (root / file).read_text(encoding="utf-8")
        errors += check_macros(file, text, macros) + check_headers(file, text) + check_asserts(file, text)
        if not knows_compiler(file):
            errors += check_extensions(file, mask(text))
    return len(files), errors


if __name__ == "__main__":
    sys.exit(run("portable", check))
