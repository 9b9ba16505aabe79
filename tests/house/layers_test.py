"""check_layers passes on a good tree and fails on each seeded fault."""
import unittest

from tree import TreeTest

import check_layers

ARCHITECTURE = """# Map

| layer | knows |
|---|---|
| `base/` | words |
| `freelist/` | indices |
| `object/` | objects |

| other | table |
|---|---|
| `object` | not a layer table |
"""


HEADERS = """
  ${PROJECT_SOURCE_DIR}/include/lido/object_pool.hpp
  ${PROJECT_SOURCE_DIR}/include/lido/base/words.hpp
  ${PROJECT_SOURCE_DIR}/include/lido/base/more.hpp
  ${PROJECT_SOURCE_DIR}/include/lido/utils/odd.hpp
  ${PROJECT_SOURCE_DIR}/include/lido/freelist/stack.hpp
  ${PROJECT_SOURCE_DIR}/include/lido/object/pool.hpp
"""


class Layers(TreeTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("include/lido/base/words.hpp", "#pragma once\n#include <vector>\n")
        self.write("include/lido/freelist/stack.hpp", '#include "lido/base/words.hpp"\n')
        self.write("include/lido/object/pool.hpp", '#include "lido/freelist/stack.hpp"\n#include "lido/base/words.hpp"\n')
        self.write("include/lido/object_pool.hpp", '/// An entry.\n#pragma once\n#include "lido/object/pool.hpp"\n')
        self.write("src/object/pool.cpp", '#include "lido/object/pool.hpp"\n')
        self.write("src/CMakeLists.txt", HEADERS)
        self.write("ARCHITECTURE.md", ARCHITECTURE)

    def errors(self) -> list[str]:
        return check_layers.check(self.root)[1]

    def test_good_tree_passes(self) -> None:
        self.assert_clean(self.errors())

    def test_tree_without_architecture_passes(self) -> None:
        (self.root / "ARCHITECTURE.md").unlink()
        self.assert_clean(self.errors())

    def test_header_that_is_not_installed_is_rejected(self) -> None:
        self.edit("src/CMakeLists.txt", "  ${PROJECT_SOURCE_DIR}/include/lido/base/words.hpp\n", "")
        self.assert_fault(self.errors(), "src/CMakeLists.txt", "base/words.hpp")

    def test_commented_include_does_not_count(self) -> None:
        self.edit("include/lido/base/words.hpp", "#include <vector>", '// #include "lido/object/pool.hpp"')
        self.assert_clean(self.errors())

    def test_header_of_the_system_outside_its_folder_is_rejected(self) -> None:
        self.write("src/base/words.cpp", "#include <sys/mman.h>\n")
        self.assert_fault(self.errors(), "src/base/words.cpp:1", "sys/mman.h")

    def test_header_of_the_system_in_its_folder_passes(self) -> None:
        self.write("src/platform/linux/memory.cpp", "#include <sys/mman.h>\n#include <unistd.h>\n")
        self.edit("ARCHITECTURE.md", "| `base/`", "| `platform/` | the system |\n| `base/`")
        self.assert_clean(self.errors())

    def test_throw_outside_its_header_is_rejected(self) -> None:
        self.write("src/base/words.cpp", "void f() {\n  throw 1;\n}\n")
        self.assert_fault(self.errors(), "src/base/words.cpp:2", "base/fail.hpp")

    def test_throw_in_its_header_and_rethrow_pass(self) -> None:
        self.write("include/lido/base/fail.hpp", "inline void f() { throw 1; }\n")
        self.edit("src/CMakeLists.txt", "base/more.hpp", "base/fail.hpp")
        self.write("src/base/words.cpp", "// throw 1\nvoid g() { throw; }\n")
        self.assert_clean(self.errors())

    def test_higher_layer_is_rejected(self) -> None:
        self.write("include/lido/base/words.hpp", '#include "lido/memory/slot.hpp"\n')
        self.assert_fault(self.errors(), "base/words.hpp:1", "memory/slot.hpp")

    def test_higher_layer_in_angle_brackets_is_rejected(self) -> None:
        self.write("include/lido/base/words.hpp", "#include <lido/memory/slot.hpp>\n")
        self.assert_fault(self.errors(), "memory/slot.hpp")

    def test_higher_layer_by_relative_path_is_rejected(self) -> None:
        self.write("include/lido/base/words.hpp", '#include "../memory/slot.hpp"\n')
        self.assert_fault(self.errors(), "memory/slot.hpp")

    def test_higher_layer_from_a_source_is_rejected(self) -> None:
        self.write("src/base/words.cpp", '#include "lido/object/pool.hpp"\n')
        self.assert_fault(self.errors(), "src/base/words.cpp:1", "object/pool.hpp")

    def test_public_entry_inside_a_layer_is_rejected(self) -> None:
        self.write("src/object/pool.cpp", '#include "lido/object_pool.hpp"\n')
        self.assert_fault(self.errors(), "public entry object_pool.hpp")

    def test_entry_with_code_is_rejected(self) -> None:
        self.write("include/lido/object_pool.hpp", "#pragma once\nstruct pool {};\n")
        self.assert_fault(self.errors(), "object_pool.hpp:2", "includes only")

    def test_unknown_folder_is_rejected(self) -> None:
        self.write("include/lido/utils/odd.hpp", "")
        self.assert_fault(self.errors(), "include/lido/utils", "unknown layer")

    def test_unknown_source_folder_is_rejected(self) -> None:
        self.write("src/utils/odd.cpp", "")
        self.assert_fault(self.errors(), "src/utils", "unknown layer")

    def test_source_outside_a_layer_is_rejected(self) -> None:
        self.write("src/odd.cpp", "")
        self.assert_fault(self.errors(), "src/odd.cpp")

    def test_ring_of_includes_is_rejected(self) -> None:
        self.write("include/lido/base/words.hpp", '#include "lido/base/more.hpp"\n')
        self.write("include/lido/base/more.hpp", '#include "lido/base/words.hpp"\n')
        self.assert_fault(self.errors(), "ring", "more.hpp")

    def test_table_in_another_order_is_rejected(self) -> None:
        self.edit("ARCHITECTURE.md", "| `base/` | words |\n| `freelist/` | indices |", "| `freelist/` | i |\n| `base/` | w |")
        self.assert_fault(self.errors(), "ARCHITECTURE.md", "the order is")

    def test_table_that_lacks_a_layer_is_rejected(self) -> None:
        self.edit("ARCHITECTURE.md", "| `freelist/` | indices |\n", "")
        self.assert_fault(self.errors(), "lacks freelist")

    def test_table_with_an_unknown_layer_is_rejected(self) -> None:
        self.edit("ARCHITECTURE.md", "| `freelist/` | indices |", "| `freelist/` | i |\n| `utils/` | all |")
        self.assert_fault(self.errors(), "unknown layer utils")

    def test_missing_table_is_rejected(self) -> None:
        self.write("ARCHITECTURE.md", "# Map\n")
        self.assert_fault(self.errors(), "no table")


if __name__ == "__main__":
    unittest.main()
