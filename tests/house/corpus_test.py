"""corpus.cmake unpacks the inputs of a fuzz target, and refuses an archive without any."""
import subprocess
import tarfile
import unittest

from tree import ROOT, TreeTest

CORPUS = ROOT / "stress/fuzz/corpus.cmake"


class Corpus(TreeTest):
    def pack(self, *names: str) -> None:
        with tarfile.open(self.root / "target.tar.gz", "w:gz") as archive:
            for name in names:
                self.write(f"inputs/{name}", name)
                archive.add(self.root / "inputs" / name, f"target/{name}")

    def unpack(self) -> tuple[int, set[str]]:
        self.write("CMakeLists.txt", f"""cmake_minimum_required(VERSION 3.22)
            project(corpus LANGUAGES NONE)
            include({CORPUS})
            lido_unpack_corpus({self.root}/target.tar.gz {self.root}/corpus/target)""")
        done = subprocess.run(["cmake", "-S", self.root, "-B", self.root / "build"], capture_output=True, check=False)
        return done.returncode, {path.name for path in (self.root / "corpus/target").glob("*")}

    def test_inputs_are_those_of_the_archive(self) -> None:
        self.pack("a.bin", "b.bin")
        self.assertEqual(self.unpack(), (0, {"a.bin", "b.bin"}))
        self.pack("b.bin", "c.bin")
        self.assertEqual(self.unpack(), (0, {"b.bin", "c.bin"}))

    def test_missing_archive_is_refused(self) -> None:
        self.assertEqual(self.unpack(), (1, set()))

    def test_archive_without_an_input_is_refused(self) -> None:
        self.pack()
        self.assertEqual(self.unpack(), (1, set()))

    def test_empty_file_is_refused(self) -> None:
        self.write("target.tar.gz", "")
        self.assertEqual(self.unpack(), (1, set()))


if __name__ == "__main__":
    unittest.main()
