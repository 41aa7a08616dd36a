"""What build systems read: a file for pkg-config, and one for CMake's `find_package`."""

from __future__ import annotations

from .. import __version__


def pkg_config(name: str, version: str) -> str:
    """NAME.pc, for the directory that it is in."""
    return (
        "dir=${pcfiledir}\n\n"
        f"Name: {name}\nDescription: {name}, compiled by soac {__version__}\nVersion: {version}\n"
        f"Cflags: -I${{dir}}\nLibs: -L${{dir}} -l{name}\nLibs.private: -lm -lpthread\n"
    )


def cmake(name: str, has_shared: bool) -> str:
    """NAMEConfig.cmake: the targets NAME::static, and NAME::shared where that is there."""
    kinds = ("static", "shared") if has_shared else ("static",)
    return "".join(["find_package(Threads REQUIRED)\n", *(imported(name, kind) for kind in kinds)])


def imported(name: str, kind: str) -> str:
    """A target of CMake."""
    suffix = {"static": "a", "shared": "so"}[kind]
    return f"""
if(NOT TARGET {name}::{kind})
  add_library({name}::{kind} {kind.upper()} IMPORTED)
  set_target_properties({name}::{kind} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/lib{name}.{suffix}"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}"
    INTERFACE_LINK_LIBRARIES "m;Threads::Threads")
endif()
"""
