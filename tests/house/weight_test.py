"""What a user includes with lido/object_pool.hpp stays small: few headers of Lido, few lines."""
import re
import unittest
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[2] / "include"
INCLUDED = re.compile(r'^#include "(lido/[^"]+)"', re.MULTILINE)


def headers_of(name: str, found: dict[str, str]) -> dict[str, str]:
    """`name` and all that it includes, with their texts."""
    if name not in found:
        found[name] = (INCLUDE / name).read_text(encoding="utf-8")
        for included in INCLUDED.findall(found[name]):
            headers_of(included, found)
    return found


class Weight(unittest.TestCase):
    def test_object_pool_includes_few_headers_and_lines(self) -> None:
        found = headers_of("lido/object_pool.hpp", {})
        listed = "\n".join(sorted(found))
        self.assertLessEqual(len(found), 25, listed)
        self.assertLessEqual(sum(text.count("\n") for text in found.values()), 2500, listed)


if __name__ == "__main__":
    unittest.main()
