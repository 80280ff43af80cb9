# toml++ without a library: all of it in its headers, which is what it does when nothing is defined.
find_path(TOML_INCLUDE toml++/toml.h REQUIRED)
add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED)
target_include_directories(tomlplusplus::tomlplusplus INTERFACE ${TOML_INCLUDE})
set(tomlplusplus_FOUND TRUE)
