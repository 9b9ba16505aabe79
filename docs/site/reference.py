#!/usr/bin/env python3
"""Writes the pages of the API reference from the XML files that Doxygen wrote.

usage: reference.py XML MOXYGEN FOLDER

Leaves out what a user cannot call: private members, deleted and defaulted functions, friend classes, and bases that only
share code. Then moxygen writes a Markdown page for each class. Returns 1 if a public name has no sentence.
"""
import copy
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASES = {"pool_controls", "acquire_forms", "async_forms", "complete_traits", "listener_links"}
# Public because other headers of Lido call them.
INTERNAL = {"async_acquire_at", "async_waits", "hooks_of", "kept_for_later", "keep_if_clean", "acquire_call", "acquire_outcome", "pool_core", "no_hooks", "closer",
            "twin", "position", "source", "anything", "entry", "postgres_result_deleter", "has_async_waits"}
HAS_KEY = "!has_key"  # the condition of functions that a pool and the view of a key share
# What a user reads instead of an internal name.
PLAIN = {r"\bdetail::stop_token": "std::stop_token", r"\bdetail::null_slot": "0xFFFF'FFFF",
         r"\bdetail::values_in_snapshot<.*>::type": "/* std::span<const T>, or Values */", r"\bpostgres_result_deleter\b": "/* calls PQclear */",
         r".*\bdetail_asio::.*": "/* boost::system::error_code, or std::error_code with standalone Asio */",
         r".*\bdecltype\(asio_error_code.*": "/* the class of the categories of asio_error_code */",
         r"\bdetail::\w+<.*>$|\bdetail::unitless\b": "class", r" requires .*detail::.*": ""}
# The standard says what these are.
STANDARD = {"value_type", "difference_type", "reference", "pointer", "iterator", "const_iterator", "iterator_category", "element_type", "what",
            "propagate_on_container_move_assignment", "propagate_on_container_swap", "is_always_equal", "begin", "end", "size", "empty", "swap"}


def text_of(element, name):
    found = element.find(name)
    return "" if found is None else "".join(found.itertext()).strip()


def is_documented(element):
    return bool(text_of(element, "briefdescription") or text_of(element, "detaileddescription"))


def parameters_of(member):
    """Returns the types of the parameters, without what tells `const T&` from `T&&`."""
    types = ["".join(each.find("type").itertext()) for each in member.findall("param")]
    return [re.sub(r"\bconst\b|[&\s]", "", each) for each in types]


def without_sentence(compound, members):
    """Returns the names in a class that no comment explains: the class itself, members, and enumerators.

    A member may share the comment of a function with its name and parameters. The comment of an enumeration may name its enumerators.
    """
    name = compound.findtext("compoundname")
    if compound.get("kind") != "namespace" and not is_documented(compound):
        yield name
    documented = [(member.findtext("name"), parameters_of(member)) for member in members if is_documented(member)]
    for member in members:
        own = f"{name}::{member.findtext('name')}"
        if not is_documented(member) and member.findtext("name") not in STANDARD and (member.findtext("name"), parameters_of(member)) not in documented:
            yield own + (member.findtext("argsstring") or "")
        named = re.findall(r"\w+", text_of(member, "briefdescription") + " " + text_of(member, "detaileddescription"))
        for value in member.findall("enumvalue"):
            if not is_documented(value) and value.findtext("name") not in named:
                yield f"{own}::{value.findtext('name')}"


def is_hidden(member):
    """Returns true if a user cannot use the member, or gets it without a declaration."""
    name, signature = member.findtext("name"), member.findtext("argsstring") or ""
    internal = "detail::" in plain(signature) or member.get("kind") == "function" and "detail::" in plain(text_of(member, "type"))
    return (internal or member.get("prot") != "public" or member.get("static") == "yes" and name in INTERNAL or name in INTERNAL
            or re.search(r"=\s*default$", signature) is not None and not is_documented(member) or re.search(r"=\s*delete$", signature) is not None
            or member.get("kind") == "friend" and not signature or member.get("kind") == "define"
            or name.startswith("~") and not is_documented(member))


def condition(signature):
    """Returns the condition of a noexcept, or None."""
    begin = re.search(r"\bnoexcept\s*\(", signature)
    if begin is None:
        return None
    depth, end = 1, begin.end()
    while depth:
        depth += {"(": 1, ")": -1}.get(signature[end], 0)
        end += 1
    return signature[begin.end():end - 1]


def noexcept_of(inner, has_key):
    """Returns what the page shows for a condition. The condition itself only if its names mean something to a user."""
    if inner == HAS_KEY:
        return "" if has_key else "noexcept"
    private = re.sub(r"std::\w+|\b[A-Z]\w*", "", inner)
    return "noexcept(...)" if re.search(r"[a-z]", private) else f"noexcept({inner})"


def plain(text):
    for internal, instead in PLAIN.items():
        text = re.sub(internal, instead, text)
    return text


def clean(member, templates, has_key):
    """Completes a declaration, and replaces internal names in it."""
    signature = member.findtext("argsstring") or ""
    inner = condition(signature)
    if inner is not None:
        member.find("argsstring").text = signature.replace(f"noexcept({inner})", noexcept_of(inner, has_key))
    member.attrib.pop("noexcept", None)  # it leaves out the condition
    member.attrib.pop("constexpr", None)  # the type has it, too
    if member.find("templateparamlist") is None and member.get("id") in templates:  # Doxygen loses it in copies from a base
        member.insert(0, copy.deepcopy(templates[member.get("id")]))
    for element in member.iter():
        if element.tag in ("type", "argsstring", "definition", "defval", "declname", "initializer", "requiresclause"):
            for part in element.iter():
                for which in ("text", "tail"):
                    text = getattr(part, which)
                    if text:
                        setattr(part, which, plain(text))
    clause = member.find("requiresclause")
    if clause is not None and "detail::" in text_of(member, "requiresclause"):
        member.remove(clause)
    parameters = member.find("templateparamlist")
    for parameter in [] if parameters is None else parameters.findall("param"):
        if text_of(parameter, "type") == "class" and text_of(parameter, "defval") == "void" and parameter.find("declname") is None:
            parameters.remove(parameter)
    if parameters is not None and parameters.find("param") is None:
        member.remove(parameters)
    if member.get("virt") == "pure-virtual":
        ElementTree.SubElement(member, "qualifier").text = "= 0"
    if member.get("kind") == "variable" and member.get("static") == "yes":
        member.find("type").text = "static " + (member.find("type").text or "")
    member.set("inline", "no")


def defaults_of(headers):
    """Returns the template parameters of forward declarations, which have the defaults."""
    found = {}
    for header in headers.rglob("*.hpp"):
        for parameters, name in re.findall(r"^template <([^;{}]*? = [^;{}]*?)>\s*(?:class|struct) (\w+);", header.read_text(), re.MULTILINE):
            found[f"lido::{name}"] = re.split(r",\s*(?=class|typename|bool|std)", parameters)
    return found


def prune(file, templates, defaults):
    """Removes hidden members and bases from a file. Returns the names without a sentence, or None for an internal class."""
    tree = ElementTree.parse(file)
    compound = tree.getroot().find("compounddef")
    if compound is None or compound.get("kind") not in ("class", "struct", "concept", "namespace"):
        return []
    if compound.findtext("compoundname").rsplit("::", 1)[-1] in INTERNAL | BASES or compound.get("prot", "public") != "public":
        return None
    for parameter, declared in zip(compound.findall("templateparamlist/param"), defaults.get(compound.findtext("compoundname"), [])):
        if parameter.find("defval") is None and " = " in declared:
            ElementTree.SubElement(parameter, "defval").text = declared.split(" = ")[1]
    has_key = any("acquire_forms" in base.text and base.text.endswith("true >") for base in compound.findall("basecompoundref"))
    for base in compound.findall("basecompoundref"):
        if re.sub(r"<.*", "", base.text).strip().rsplit("::", 1)[-1] in BASES or "detail" in base.text:
            compound.remove(base)
    for each in compound.findall("listofallmembers") + compound.findall("innerclass"):
        if each.tag == "listofallmembers" or each.get("prot") != "public" or each.text.rsplit("::", 1)[-1] in INTERNAL | BASES:
            compound.remove(each)
    left = []
    for section in compound.findall("sectiondef"):
        for member in section.findall("memberdef"):
            if is_hidden(member):
                section.remove(member)
            else:
                clean(member, templates, has_key)
                if not member.get("id").startswith(compound.get("id") + "_1"):  # a function of a base, which other classes have, too
                    member.set("id", f"{compound.get('id')}_1{member.get('id').rsplit('_1', 1)[-1]}")
                left.append(member)
        if section.find("memberdef") is None or compound.findtext("compoundname") == "lido::shared_list":  # only Lido derives from it
            compound.remove(section)
        elif section.get("kind") == "friend":  # last
            compound.remove(section)
            compound.append(section)
    tree.write(file, encoding="utf-8", xml_declaration=True)
    return list(without_sentence(compound, left))


def relink(xml):
    """Makes references to functions of a base, and to names of the namespace, lead to the page that has them."""
    texts = {file: file.read_text() for file in xml.glob("*.xml")}
    own = {file: dict.fromkeys(re.findall(rf'<memberdef [^>]*id="{file.stem}_1(a[0-9a-f]+)"', text), file.stem) for file, text in texts.items()}
    shared = {code: file for each, codes in own.items() if each.stem.startswith("namespace") for code, file in codes.items()}
    for file, text in texts.items():
        def lead(match, here=own[file]):
            return f'refid="{here.get(match[2]) or shared.get(match[2]) or match[1]}_1{match[2]}"'
        file.write_text(re.sub(r'refid="(\w+)_1(a[0-9a-f]{32,34})"', lead, text))


def main():
    xml, moxygen, folder = Path(sys.argv[1] + "-public"), sys.argv[2], Path(sys.argv[3])
    shutil.copytree(sys.argv[1], xml)
    templates = {}
    for file in xml.glob("*.xml"):
        for member in ElementTree.parse(file).getroot().iter("memberdef"):
            if member.find("templateparamlist") is not None:
                templates.setdefault(member.get("id"), member.find("templateparamlist"))
    defaults = defaults_of(HERE.parents[1] / "include/lido")
    bare = []
    for file in sorted(xml.glob("*.xml")):
        names = prune(file, templates, defaults)
        if names is None:
            file.unlink()
        else:
            bare += names
    relink(xml)
    index = xml / "index.xml"
    tree = ElementTree.parse(index)
    for compound in tree.getroot().findall("compound"):
        file = xml / f"{compound.get('refid')}.xml"
        if not file.exists():
            tree.getroot().remove(compound)
            continue
        for member in compound.findall("member"):
            compound.remove(member)
        for member in ElementTree.parse(file).getroot().iter("memberdef"):
            entry = ElementTree.SubElement(compound, "member", refid=member.get("id"), kind=member.get("kind"))
            ElementTree.SubElement(entry, "name").text = member.findtext("name")
    tree.write(index, encoding="utf-8", xml_declaration=True)
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([moxygen, "--classes", "--anchors", "--quiet", "--templates", str(HERE / "templates"), "--logfile", str(xml / "moxygen.log"),
                    "--output", str(folder / "%s.md"), str(xml)], check=True)
    for name in bare:
        print(f"no sentence: {name}", file=sys.stderr)
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
