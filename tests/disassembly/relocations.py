"""Checks that all relocations of an object file that name a symbol are of one kind.

usage: relocations.py --objdump <objdump> <object file> <symbol> <kind>
"""
import argparse
import re
import subprocess
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objdump", required=True)
    parser.add_argument("object")
    parser.add_argument("symbol")
    parser.add_argument("kind")
    wanted = parser.parse_args()
    listing = subprocess.run([wanted.objdump, "-r", wanted.object], check=True, capture_output=True, text=True).stdout
    kinds = set(re.findall(rf"^[0-9a-f]+ +(R_\w+) +{wanted.symbol}\b", listing, re.M))
    if kinds != {wanted.kind}:
        print(f"{wanted.symbol}: {', '.join(sorted(kinds)) or 'no relocation'} instead of {wanted.kind}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
