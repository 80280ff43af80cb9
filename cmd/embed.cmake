# Writes OUT, a source that gives the files FILES as texts, sorted by name (without endings):
# FUNCTION of HEADER returns a span of TYPE{name, text}.
# cmake -DFILES=a;b -DOUT=F -DHEADER=.. -DTYPE=.. -DFUNCTION=.. -P
list(SORT FILES)
set(entries "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"text(${text})text\"},\n")
endforeach()
file(WRITE ${OUT} "// Made by cmd/embed.cmake.
#include \"${HEADER}\"

namespace driftless {

std::span<const ${TYPE}> ${FUNCTION}() {
    static constexpr ${TYPE} files[] = {
${entries}    };
    return files;
}

}  // namespace driftless
")
