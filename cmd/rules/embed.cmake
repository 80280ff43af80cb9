# Writes shipped.cpp: the files SETS (name.toml) as texts, sorted by name. cmake -DSETS=a;b -DOUT=F -P
list(SORT SETS)
set(entries "")
foreach(file ${SETS})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
file(WRITE ${OUT} "// Made of cmd/rules/sets by cmd/rules/embed.cmake.
#include \"cmd/rules/shipped.hpp\"

namespace driftless {

std::span<const ShippedRules> shipped_rules() {
    static constexpr ShippedRules sets[] = {
${entries}    };
    return sets;
}

}  // namespace driftless
")
