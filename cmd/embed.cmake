# Writes OUT, a source that gives the files FILES as texts: FUNCTION of HEADER returns a span of TYPE{name, text},
# sorted by name (without endings). Where files are written NAME|SUMMARY|PATH, it is TYPE{name, summary, text}, in
# the order given.
# cmake -DFILES=a;b -DOUT=F -DHEADER=.. -DTYPE=.. -DFUNCTION=.. -P
if(NOT FILES MATCHES "[|]")
  list(SORT FILES)
endif()
set(entries "")
foreach(file ${FILES})
  if(file MATCHES "^(.+)[|](.+)[|](.+)$")
    set(head "\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\"")
    set(file ${CMAKE_MATCH_3})
  else()
    get_filename_component(name ${file} NAME_WE)
    set(head "\"${name}\"")
  endif()
  file(READ ${file} text)
  string(APPEND entries "    {${head}, R\"text(${text})text\"sv},\n")
endforeach()
file(WRITE ${OUT} "// Made by cmd/embed.cmake.
#include \"${HEADER}\"

namespace driftless {

std::span<const ${TYPE}> ${FUNCTION}() {
    using namespace std::string_view_literals;  // texts that know their length: no compiler counts it
    static constexpr ${TYPE} files[] = {
${entries}    };
    return files;
}

}  // namespace driftless
")
