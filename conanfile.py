"""Recipe for Conan 2.

A test runs it with a stand-in for Conan, which builds Lido and test_package as the recipe says. With Conan itself it is
untried.
"""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps

# The option with_<part> is LIDO_WITH_<PART> of CMake, and needs this.
PARTS = {
    "tbb": "onetbb/[>=2021]",
    "boost_lockfree": "boost/[>=1.74 <2]",
    "boost_asio": "boost/[>=1.74 <2]",
    "standalone_asio": "asio/[>=1.22]",
    "hiredis": "hiredis/[>=0.14]",
    "libpq": "libpq/[>=14]",
    "fmt": "fmt/[>=9 <10]",
    "prometheus": "prometheus-cpp/[>=1.1 <2]",
}


class LidoRecipe(ConanFile):
    name = "lido"
    description = "C++20 library of thread-safe object pools"
    license = "BSL-1.0"
    author = "The Lido developers"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    # Without fPIC: code of Lido is always independent of its position.
    options = {"shared": [True, False], **{f"with_{part}": [True, False] for part in PARTS}}
    default_options = {option: False for option in options}
    exports_sources = "CMakeLists.txt", "LICENSE", "CHANGELOG.md", "cmake/*", "include/*", "src/*"

    def set_version(self):
        text = load(self, Path(self.recipe_folder) / "include/lido/version.hpp")
        self.version = ".".join(re.search(rf"#define LIDO_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))

    def parts(self):
        return [part for part in PARTS if getattr(self.options, f"with_{part}")]

    def requirements(self):
        for need in dict.fromkeys(PARTS[part] for part in self.parts()):
            self.requires(need, transitive_headers=True)

    def build_requirements(self):
        if {"hiredis", "libpq"} & set(self.parts()):
            self.tool_requires("pkgconf/[>=2]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["LIDO_BUILD_TESTS"] = "OFF"
        toolchain.cache_variables["LIDO_BUILD_EXAMPLES"] = "OFF"
        for part in PARTS:
            toolchain.cache_variables[f"LIDO_WITH_{part.upper()}"] = "ON" if part in self.parts() else "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))
        CMake(self).install()

    def package_info(self):
        # Programs find Lido by its own CMake package, which knows the components.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/lido"]
        self.cpp_info.libs = ["lido"]
        # For generators that do not read that package.
        system = str(self.settings.os)
        if system == "Windows":
            self.cpp_info.system_libs = ["synchronization", "ntdll", "ws2_32"]
        elif system in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
        if self.options.shared:
            self.cpp_info.defines = ["LIDO_SHARED"]
        elif system in ("Linux", "FreeBSD", "Android"):
            self.cpp_info.sharedlinkflags = ["-Wl,-z,nodelete"]  # see cmake/linkage.cmake
