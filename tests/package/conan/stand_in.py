"""Modules with the names of Conan's, as far as recipes of Lido use them. Undocumented parts of Conan 2 are refused."""
import shutil
import subprocess
import sys
import types
from pathlib import Path

TRAITS = {"headers", "libs", "run", "visible", "transitive_headers", "transitive_libs", "force", "override"}
METHODS = {"set_version", "requirements", "build_requirements", "validate", "layout", "generate", "build", "package",
           "package_info", "test"}
FIELDS = {"name", "version", "description", "homepage", "license", "author", "package_type", "settings", "options", "default_options",
          "exports_sources", "generators"}
PROPERTIES = {"cmake_find_mode": {"config", "module", "both", "none"}}
GENERATORS = {"CMakeDeps", "CMakeToolchain", "PkgConfigDeps"}


def insist(condition, what):
    if not condition:
        sys.exit(f"conan: {what}")


class CppInfo:
    __slots__ = ("builddirs", "defines", "libs", "properties", "sharedlinkflags", "system_libs")

    def __init__(self):
        self.builddirs, self.libs, self.properties = [], ["no"], {}
        self.defines, self.sharedlinkflags, self.system_libs = [], [], []

    def set_property(self, name, value):
        insist(value in PROPERTIES.get(name, set()), f"no property {name} {value}")
        self.properties[name] = value


class ConanFile:
    options = {}
    default_options = {}
    generators = ()
    tested_reference_str = None

    def __init__(self, recipe_folder, folder, on=()):
        public = {name for name in vars(type(self)) if not name.startswith("_")}
        # A recipe may have its own functions, which it calls.
        known = METHODS | FIELDS | {name for name in public if f"self.{name}(" in Path(recipe_folder, "conanfile.py").read_text()}
        insist(public <= known, f"no field or method of a recipe: {public - known}")
        insist(set(self.generators) <= GENERATORS, f"no generators {self.generators}")
        insist(set(self.default_options) == set(self.options), "options and default_options differ")
        insist(set(on) <= set(self.options), f"no options {on}")
        self.recipe_folder, self.source_folder = str(recipe_folder), str(folder / "source")
        self.build_folder, self.package_folder = str(folder / "build"), str(folder / "package")
        self.options = types.SimpleNamespace(**{name: name in on or value for name, value in self.default_options.items()})
        self.settings = types.SimpleNamespace(os="Linux")
        self.required, self.tools, self.prefixes, self.cache = [], [], [], {}
        self.cpp_info = CppInfo()

    def requires(self, reference, **traits):
        insist(set(traits) <= TRAITS, f"no traits {traits}")
        self.required.append(reference)

    def tool_requires(self, reference):
        self.tools.append(reference)

    def run(self, command, env):
        insist(env in ("conanrun", "conanbuild"), f"no environment {env}")
        call(command)

    def export(self):
        """Copies only what exports_sources names to where Lido is built."""
        for pattern in self.exports_sources:
            count = copy(self, pattern, self.recipe_folder, self.source_folder)
            insist(count, f"exports_sources has {pattern}, which is not there")


def call(*command):
    print(*command, flush=True)
    subprocess.run(command, check=True)


def copy(_recipe, pattern, source, target):
    files = [file for file in Path(source).glob(pattern.replace("*", "**/*")) if file.is_file()]
    for file in files:
        to = Path(target, file.relative_to(source))
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)
    return len(files)


class CMakeToolchain:
    def __init__(self, recipe):
        self.recipe, self.cache_variables = recipe, {}

    def generate(self):
        self.recipe.cache = dict(self.cache_variables)


class Generator:
    def __init__(self, recipe):
        pass

    def generate(self):
        pass


class CMake:
    def __init__(self, recipe):
        self.recipe = recipe

    def configure(self):
        recipe = self.recipe
        command = ["cmake", "-S", recipe.source_folder, "-B", recipe.build_folder, "-DCMAKE_BUILD_TYPE=Release",
                   "-DCMAKE_CXX_FLAGS_RELEASE=-O0", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0",
                   f"-DCMAKE_INSTALL_PREFIX={recipe.package_folder}", "-DCMAKE_INSTALL_LIBDIR=lib",
                   f"-DCMAKE_PREFIX_PATH={';'.join(recipe.prefixes)}"]
        if hasattr(recipe.options, "shared"):
            command.append(f"-DBUILD_SHARED_LIBS={recipe.options.shared}")
        command += [f"-D{name}={value}" for name, value in recipe.cache.items()]
        print(*command, flush=True)
        said = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True).stderr
        insist("variables were not used" not in said or "LIDO_" not in said, said)

    def build(self):
        call("cmake", "--build", self.recipe.build_folder, "-j", "2")

    def install(self):
        call("cmake", "--install", self.recipe.build_folder)


def cmake_layout(recipe):
    recipe.cpp = types.SimpleNamespace(build=types.SimpleNamespace(bindir=recipe.build_folder))


def install_modules():
    modules = {
        "conan": {"ConanFile": ConanFile},
        "conan.tools": {},
        "conan.tools.build": {"can_run": lambda _recipe: True, "check_min_cppstd": lambda _recipe, least: insist(least == 20, least)},
        "conan.tools.cmake": {"CMake": CMake, "CMakeDeps": Generator, "CMakeToolchain": CMakeToolchain,
                              "cmake_layout": cmake_layout},
        "conan.tools.files": {"copy": copy, "load": lambda _recipe, path: Path(path).read_text(encoding="utf-8")},
        "conan.tools.gnu": {"PkgConfigDeps": Generator},
    }
    for name, members in modules.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
