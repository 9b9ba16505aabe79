"""check_project passes on a good tree and fails on each seeded fault."""
import unittest

from tree import TreeTest

import check_project

VERSION = """#define LIDO_VERSION_MAJOR 1
#define LIDO_VERSION_MINOR 2
#define LIDO_VERSION_PATCH 3
#define LIDO_ABI_VERSION 4
"""
CITATION = """authors:
  - name: The Lido developers
license: BSL-1.0
version: 1.2.3
"""
POOL = """namespace lido::inline v4 {
// As in https://semver.org/spec: lido::v4::pool, _ZN4lido2v44poolE; mail to a@test.invalid, git@host.example:x.
}
"""
README = """# Lido
<!-- address -->
<!-- /address -->
find_package(lido 1.2 REQUIRED)
"""
MANIFEST = "cmake/vcpkg/lido/vcpkg.json"


class Project(TreeTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("include/lido/version.hpp", VERSION)
        self.write("cmake/project.json", '{"address": "", "contact": ""}\n')
        self.write("CITATION.cff", CITATION)
        self.write(MANIFEST, '{\n  "version": "1.2.3",\n  "license": "BSL-1.0",\n  "maintainers": "The Lido developers"\n}\n')
        self.write("conanfile.py", 'class Recipe:\n    license = "BSL-1.0"\n')
        self.write("include/lido/pool.hpp", POOL)
        self.write("README.md", README)
        check_project.write(self.root)

    def errors(self) -> list[str]:
        return check_project.check(self.root)[1]

    def assert_refused(self, name: str, old: str, new: str, *parts: str) -> None:
        self.edit(name, old, new)
        self.assert_fault(self.errors(), name, *parts)

    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def test_good_tree_passes(self) -> None:
        self.assert_clean(self.errors())

    def test_other_version_is_refused(self) -> None:
        self.assert_refused("CITATION.cff", "1.2.3", "1.2.2", "1.2.2", "1.2.3")

    def test_manifest_without_version_is_refused(self) -> None:
        self.assert_refused(MANIFEST, '"version"', '"number"', "nowhere")

    def test_version_in_a_file_of_no_table_is_refused(self) -> None:
        self.write("cmake/more.cmake", "project(x)\nset(version 1.2.3)\n")
        self.assert_fault(self.errors(), "cmake/more.cmake:2")

    def test_longer_number_is_another(self) -> None:
        self.write("cmake/more.cmake", "need(11.2.3 1.2.3.4 x@1.2.3)\n")
        self.assert_clean(self.errors())

    def test_package_of_an_old_version_is_refused(self) -> None:
        self.assert_refused("README.md", "lido 1.2", "lido 1.1", "find_package(lido 1.1")

    def test_other_namespace_is_refused(self) -> None:
        for old, new in (("inline v4 ", "inline v3 "), ("lido::v4::", "lido::v40::"), ("4lido2v4", "4lido3v44")):
            with self.subTest(new):
                self.write("include/lido/pool.hpp", POOL)
                self.assert_refused("include/lido/pool.hpp", old, new, "LIDO_ABI_VERSION is 4")

    def test_namespace_of_no_abi_is_refused(self) -> None:
        for new in ("namespace lido {\n}\n", "namespace lido::detail {\n}\n"):
            with self.subTest(new):
                self.write("src/pool.cpp", new)
                self.assert_fault(self.errors(), "src/pool.cpp:1", "lacks inline v4")

    def test_invented_addresses_are_refused(self) -> None:
        for new in ("https://lido.dev/docs", "git@github.com:lido/lido.git", "github.com/lido/lido", "ssh://git@lido.io/x",
                    "https://github.com/someone/other", "https://semver.example.com", "https://semver.organic.io", "team@lido.dev",
                    "https://me@lido.dev/x"):
            with self.subTest(new):
                self.write("docs/a.md", f"See {new}.\n")
                self.assertTrue(any("docs/a.md:1" in error for error in self.errors()))

    def test_addresses_without_an_owner_pass(self) -> None:
        self.write("docs/a.md", "http://127.0.0.1:80/x https://db.test.invalid/ redis://me@db:1 zig@0.11.0 a@b.example\n")
        self.assert_clean(self.errors())

    def test_names_are_refused(self) -> None:
        for name, line in (("x.cff", "  - given-names: A"), ("x.json", '"maintainers": ["A B"],'), ("x.py", 'author = "A B"'),
                           ("debian/copyright", "Copyright: 2020 A B"), ("x.cmake", 'set(CPACK_PACKAGE_VENDOR "A B")'),
                           ("x.cmake", "set(CPACK_DEBIAN_PACKAGE_MAINTAINER A)")):
            with self.subTest(line):
                self.write(name, line + "\n")
                self.assert_fault(self.errors(), name + ":1", check_project.AUTHOR)
                (self.root / name).unlink()

    def test_names_that_are_taken_from_somewhere_pass(self) -> None:
        self.write("x.cmake", 'set(CPACK_PACKAGE_CONTACT "${contact}")\nset(CPACK_PACKAGE_VENDOR "The Lido developers")\n')
        self.assert_clean(self.errors())

    def test_block_is_rendered_from_the_project(self) -> None:
        self.assertIn("no public address", self.text("README.md"))
        self.assert_refused("README.md", "Lido has no", "Lido got no", "differs")
        self.write("cmake/project.json", '{"address": "https://forge.test/lido", "contact": "us@forge.test"}\n')
        self.assertIn("README.md: differs", "\n".join(self.errors()))
        check_project.write(self.root)
        self.assertIn("<https://forge.test/lido>", self.text("README.md"))
        self.assertNotIn("no public address", self.text("README.md"))
        self.write("SECURITY.md", "<!-- contact -->\n<!-- /contact -->\n")
        check_project.write(self.root)
        self.assertIn("<us@forge.test>", self.text("SECURITY.md"))
        self.assert_clean(self.errors())

    def test_manifests_name_the_address(self) -> None:
        lines = {"CITATION.cff": "\nrepository-code: https://forge.test/lido\nlicense",
                 MANIFEST: '\n  "homepage": "https://forge.test/lido",\n',
                 "conanfile.py": '\n    homepage = "https://forge.test/lido"\n'}
        before = {name: self.text(name) for name in lines}
        self.write("cmake/project.json", '{"address": "https://forge.test/lido", "contact": ""}\n')
        errors = self.errors()
        check_project.write(self.root)
        for name, line in lines.items():
            self.assertTrue(any(name in error and "differs" in error for error in errors))
            self.assertIn(line, self.text(name))
        self.assert_clean(self.errors())
        self.write("cmake/project.json", '{"address": "", "contact": ""}\n')
        check_project.write(self.root)
        self.assertEqual(before, {name: self.text(name) for name in lines})


if __name__ == "__main__":
    unittest.main()
