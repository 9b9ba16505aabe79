"""check_size passes on good files and fails on long ones."""
import unittest

from tree import TreeTest

import check_size


class Size(TreeTest):
    def errors(self) -> list[str]:
        return check_size.check(self.root)[1]

    def test_files_and_functions_at_the_limit_pass(self) -> None:
        self.write("scripts/a.py", "def f():\n" + "    g()\n" * 59 + "\n" * 640)
        self.write("docs/long.md", "\n" * 701)
        self.assert_clean(self.errors())

    def test_long_file_is_rejected_in_every_folder(self) -> None:
        names = [f"{folder}/a{suffix}" for folder in check_size.FOLDERS for suffix in check_size.SUFFIXES]
        for name in names:
            self.write(name, "\n" * 701)
        self.assertEqual(sorted(self.errors()), sorted(f"{name}: 701 lines" for name in names))

    def test_long_python_function_is_rejected(self) -> None:
        self.write("scripts/a.py", "class C:\n  def f():\n" + "    g()\n" * 60)
        self.assert_fault(self.errors(), "scripts/a.py:2", "61 lines")


if __name__ == "__main__":
    unittest.main()
