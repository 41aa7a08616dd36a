"""What build systems read: a file for pkg-config, and one for CMake's `find_package`."""

from __future__ import annotations

from collections.abc import Sequence

from .. import __version__


def pkg_config(name: str, version: str, needs: Sequence[str]) -> str:
    """NAME.pc, for the directory that it is in; `needs`: the libraries that this one does."""
    return (
        "dir=${pcfiledir}\n\n"
        f"Name: {name}\nDescription: {name}, compiled by soac {__version__}\nVersion: {version}\n"
        f"Cflags: -I${{dir}}\nLibs: -L${{dir}} -l{name}\nLibs.private: {' '.join(f'-l{one}' for one in needs)}\n"
    )


def cmake(name: str, has_shared: bool, needs: Sequence[str]) -> str:
    """NAMEConfig.cmake: the targets NAME::static, and NAME::shared where that is there."""
    kinds = ("static", "shared") if has_shared else ("static",)
    return "".join(["find_package(Threads REQUIRED)\n", *(imported(name, kind, needs) for kind in kinds)])


def imported(name: str, kind: str, needs: Sequence[str]) -> str:
    """A target of CMake."""
    linked = ";".join("Threads::Threads" if one == "pthread" else one for one in needs)
    suffix = {"static": "a", "shared": "so"}[kind]
    return f"""
if(NOT TARGET {name}::{kind})
  add_library({name}::{kind} {kind.upper()} IMPORTED)
  set_target_properties({name}::{kind} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/lib{name}.{suffix}"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}"
    INTERFACE_LINK_LIBRARIES "{linked}")
endif()
"""
