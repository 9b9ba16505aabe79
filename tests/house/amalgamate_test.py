"""The one header contains each file once, wherever it is compiled, whatever conditions surround the includes."""
import subprocess
import unittest

from tree import TreeTest

import amalgamate


class OneHeader(TreeTest):
    def setUp(self) -> None:
        super().setUp()
        root, amalgamate.ROOT = amalgamate.ROOT, self.root
        self.addCleanup(setattr, amalgamate, "ROOT", root)

    def compiled(self, *files: str, define: str = "NOTHING") -> list[str]:
        """Returns the lines that are left for the compiler, of a header with these files."""
        header = amalgamate.OneHeader()
        for file in files:
            header.add(self.root / file)
        text = "\n".join(header.lines) + "\n"
        return subprocess.run(["c++", "-E", "-P", f"-D{define}", "-x", "c++", "-"], input=text, check=True,
                              capture_output=True, text=True).stdout.split("\n")[:-1]

    def test_an_include_is_replaced_by_its_file_once(self) -> None:
        self.write("include/lido/a.hpp", "#pragma once\n/// @file\nint a;\n")
        self.write("src/b/b.hpp", '#pragma once\n#include "lido/a.hpp"\nint b;\n')
        self.write("src/b/b.cpp", '#include "b.hpp"\n#include "lido/a.hpp"\nint c;\n')
        self.assertEqual(self.compiled("src/b/b.cpp"), ["int a;", "int b;", "int c;"])

    def test_a_file_behind_a_condition_is_there_without_it_too(self) -> None:
        self.write("include/lido/a.hpp", "#pragma once\nint a;\n")
        self.write("src/b.cpp", '#if defined(MORE)  // why\n#include "lido/a.hpp"\n#endif\nint b;\n')
        self.write("src/c.cpp", '#include "lido/a.hpp"\nint c;\n')
        for define, expected in (("MORE", ["int a;", "int b;", "int c;"]), ("LESS", ["int b;", "int a;", "int c;"])):
            self.assertEqual(self.compiled("src/b.cpp", "src/c.cpp", define=define), expected)

    def test_a_file_in_both_branches_is_there_in_either(self) -> None:
        self.write("include/lido/a.hpp", "#pragma once\nint a;\n")
        self.write("src/b.cpp", '#ifdef MORE\n#include "lido/a.hpp"\n#else\nint b;\n#include "lido/a.hpp"\n#endif\n')
        self.assertEqual(self.compiled("src/b.cpp", define="MORE"), ["int a;"])
        self.assertEqual(self.compiled("src/b.cpp", define="LESS"), ["int b;", "int a;"])

    def test_a_header_of_the_system_behind_a_condition_counts_there_alone(self) -> None:
        self.write("src/a.cpp", "#if defined(MORE)\n#include <cstddef>\n#endif\n")
        self.write("src/b.cpp", "#include <cstddef>\nusing of_system = std::size_t;\n#include <cstddef>\n")
        header = amalgamate.OneHeader()
        for file in ("src/a.cpp", "src/b.cpp"):
            header.add(self.root / file)
        self.assertEqual(header.lines.count("#include <cstddef>"), 2)

    def test_a_macro_that_its_user_would_have_is_refused(self) -> None:
        self.write("src/a.cpp", "#define LIDO_OWN 1\n#define slots 2\n")
        with self.assertRaisesRegex(SystemExit, "a.cpp: the macro slots"):
            self.compiled("src/a.cpp")


if __name__ == "__main__":
    unittest.main()
