"""codespell, as .codespellrc configures it, checks every folder and hidden file of the tree, and no build folder."""
import re
import shutil
import subprocess
import unittest

from tree import ROOT, TreeTest

SETTINGS = ROOT / ".codespellrc"
FAULT = "rec" + "ieve\n"  # cut in two, so that this file holds none itself


class Spelling(TreeTest):
    def test_faults_are_found_where_text_is_ours(self) -> None:
        shutil.copy(SETTINGS, self.root)
        ours = ["./.hidden", "./docs/deep/a.md", "./include/a.hpp", "./tests/package/builder/a.cmake"]
        for name in [*ours, "build/a.md", "build-other/a.md", ".git/a", ".cache/a"]:
            self.write(name, FAULT)
        done = subprocess.run(["codespell"], cwd=self.root, capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(sorted(re.findall(r"^(.*):1: ", done.stdout, re.M)), sorted(ours))


if __name__ == "__main__":
    unittest.main()
