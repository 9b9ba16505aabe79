#!/usr/bin/env python3
"""Runs conanfile.py as `conan create` does, with a stand-in for Conan: export, build, package, then test_package.

usage: recipe_test.py SOURCE FOLDER VERSION [PART...]    the parts whose libraries are here
"""
import importlib.util
import re
import shutil
import sys
from pathlib import Path

import stand_in
from stand_in import insist


def recipe_in(folder):
    spec = importlib.util.spec_from_file_location(f"recipe_of_{folder.name}", folder / "conanfile.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    recipes = [each for each in vars(module).values()
               if isinstance(each, type) and issubclass(each, stand_in.ConanFile) and each is not stand_in.ConanFile]
    insist(len(recipes) == 1, f"{folder} has the recipes {recipes}")
    return recipes[0]


def check_options(recipe_class, source, folder):
    """Each option of CMake has one of Conan, and each one of Conan a requirement."""
    options = {name for name in recipe_class.options if name != "shared"}
    text = (source / "cmake/components.cmake").read_text(encoding="utf-8")
    wanted = {f"with_{part.lower()}" for part in re.findall(r"^set\(LIDO_WITH_(\w+) AUTO CACHE", text, re.M)}
    insist(options == wanted, f"the options of CMake are {wanted}, those of Conan {options}")
    for option in options:
        recipe = recipe_class(source, folder, [option])
        recipe.requirements()
        recipe.build_requirements()
        insist(len(recipe.required) == 1 and re.fullmatch(r"[a-z-]+/\[[^]]+\]", recipe.required[0]),
               f"{option} requires {recipe.required}")
        insist(bool(recipe.tools) == (option in ("with_hiredis", "with_libpq")), f"{option} needs the tools {recipe.tools}")


def check_usage(recipe_class, source, folder):
    """The data for generators that do not read the CMake package of Lido."""
    for system, libraries in {"Linux": ["pthread"], "Windows": ["synchronization", "ntdll", "ws2_32"], "Macos": []}.items():
        for shared in (False, True):
            recipe = recipe_class(source, folder, ["shared"] if shared else [])
            recipe.settings.os = system
            recipe.package_info()
            told = recipe.cpp_info
            insist(told.system_libs == libraries, f"on {system}, programs are linked with {told.system_libs}")
            insist(told.defines == ["LIDO_SHARED"] * shared, f"shared is {shared}, and macros are {told.defines}")
            insist(bool(told.sharedlinkflags) == (system == "Linux" and not shared), f"{system}: {told.sharedlinkflags}")


def main():
    source, folder, version, parts = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    shutil.rmtree(folder, ignore_errors=True)
    stand_in.install_modules()
    recipe_class = recipe_in(source)
    check_options(recipe_class, source, folder)
    check_usage(recipe_class, source, folder)

    lido = recipe_class(source, folder / "lido", [f"with_{part}" for part in parts])
    lido.set_version()
    insist(lido.version == version, f"the recipe is of version {lido.version}")
    lido.export()
    lido.validate()
    lido.layout()
    lido.generate()
    lido.build()
    lido.package()
    lido.package_info()
    package = Path(lido.package_folder)
    insist((package / "licenses/LICENSE").is_file(), "no licence in the package")
    insist(lido.cpp_info.libs == ["lido"] and list(package.glob("lib/*lido*")), f"no libraries {lido.cpp_info.libs}")
    for part in parts:
        insist((package / f"lib/cmake/lido/lido-{part}-targets.cmake").is_file(), f"with_{part} makes no component")

    program = recipe_in(source / "test_package")(source / "test_package", folder / "program")
    program.tested_reference_str = f"lido/{version}"
    program.source_folder = program.recipe_folder
    # With the mode `none` Conan writes no file for find_package, so Lido's own is found.
    insist(lido.cpp_info.properties == {"cmake_find_mode": "none"}, f"properties {lido.cpp_info.properties}")
    program.prefixes = [str(package / each) for each in lido.cpp_info.builddirs]
    program.requirements()
    insist(program.required == [f"lido/{version}"], f"test_package requires {program.required}")
    program.layout()
    program.build()
    program.test()


if __name__ == "__main__":
    main()
