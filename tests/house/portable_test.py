"""check_portable passes on a good tree and fails on each seeded fault."""
import unittest

from tree import TreeTest

import check_portable

COMPILER = """#pragma once
#if defined(__x86_64__)
#define LIDO_X86_64 1
#endif
#define LIDO_NOINLINE gnu::noinline
"""
POOL = """#pragma once
#include <version>
#include "lido/platform/compiler.hpp"
#if __has_include(<memory_resource>) && defined(__cpp_exceptions)
// A word about gnu::noinline, __builtin_trap and asm.
[[nodiscard, LIDO_NOINLINE]] int pool(const char* name = "__x86_64__");
#endif
"""
NAME = "include/lido/object/pool.hpp"


class Portable(TreeTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("include/lido/platform/compiler.hpp", COMPILER)
        self.write(NAME, POOL)
        self.write("src/platform/platform.hpp", "#pragma once\nint park();\n")
        self.write("src/platform/linux/waiting.cpp", "[[gnu::weak]] int __found();\n")

    def errors(self) -> list[str]:
        return check_portable.check(self.root)[1]

    def assert_refused(self, old: str, new: str, *parts: str) -> None:
        self.edit(NAME, old, new)
        self.assert_fault(self.errors(), NAME, *parts)

    def test_good_tree_passes(self) -> None:
        self.assert_clean(self.errors())

    def test_attribute_is_refused(self) -> None:
        self.assert_refused("LIDO_NOINLINE", "gnu::cold", "gnu::")

    def test_old_attribute_is_refused(self) -> None:
        self.assert_refused("int pool", "__attribute__((cold)) int pool", "__attribute__")

    def test_attribute_that_cl_ignores_is_refused(self) -> None:
        self.assert_refused("nodiscard", "no_unique_address", "no_unique_address")

    def test_builtin_is_refused(self) -> None:
        self.assert_refused('"__x86_64__"', "__builtin_FILE()", "__builtin_FILE")

    def test_macro_of_a_processor_is_refused(self) -> None:
        self.assert_refused("defined(__cpp_exceptions)", "defined(_M_X64)", "_M_X64")

    def test_assembler_is_refused(self) -> None:
        self.assert_refused("#endif", '#endif\ninline void stop() { asm("hlt"); }', "asm")

    def test_pragma_is_refused(self) -> None:
        self.assert_refused("#include <version>", "#pragma GCC system_header", "#pragma GCC system_header")

    def test_pragma_that_all_know_passes(self) -> None:
        self.edit(NAME, "#include <version>", '#pragma push_macro("emit")')
        self.assert_clean(self.errors())

    def test_macros_of_windows_are_refused(self) -> None:
        for new in ("enum class end { near };", "bool ERROR = false;", "int x = std::min(1, 2);",
                    "int x = std::numeric_limits<int>::max ();"):
            with self.subTest(new):
                self.write(NAME, POOL + new)
                self.assert_fault(self.errors(), NAME + ":8", "windows.h")

    def test_headers_of_windows_are_refused(self) -> None:
        for header in ("windows.h", "Windows.h", "winsock2.h", "psapi.h"):
            with self.subTest(header):
                self.write(NAME, POOL + f"#include <{header}>\n")
                self.assert_fault(self.errors(), NAME + ":8", header)

    def test_headers_of_windows_pass_in_its_back_end_and_for_sockets(self) -> None:
        self.write("src/platform/windows/system.hpp", "#include <windows.h>\n")
        self.write("include/lido/connect/dial.hpp", "#include <winsock2.h>\n")
        self.assert_clean(self.errors())

    def test_names_that_no_macro_takes_pass(self) -> None:
        self.write(NAME, POOL + """int x = (std::max)(std::min<int>(1, 2), nearest + smaller);
bool max = min == INT_MAX;  // in words: min() of all, near
""")
        self.assert_clean(self.errors())

    def test_macro_without_its_header_is_refused(self) -> None:
        self.assert_refused('#include "lido/platform/compiler.hpp"\n', "", "LIDO_NOINLINE", "compiler.hpp")

    def test_seam_and_what_any_system_has_are_no_folder_of_a_system(self) -> None:
        for name in ("src/platform/platform.hpp", "src/platform/generic/waiting.cpp"):
            with self.subTest(name):
                self.write(name, "[[gnu::cold]] int park();\n")
                self.assert_fault(self.errors(), name, "gnu::")
                (self.root / name).unlink()


if __name__ == "__main__":
    unittest.main()
