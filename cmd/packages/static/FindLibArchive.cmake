# libarchive, and of what it needs only the formats that are asked for (engine/plan): bzip2, xz and
# zstd. The archive's other members (acl, lz4, nettle, libxml2 for xar) are not linked in.
find_library(LIBARCHIVE_LIBRARY archive REQUIRED)
add_library(LibArchive::LibArchive STATIC IMPORTED)
set_target_properties(LibArchive::LibArchive PROPERTIES IMPORTED_LOCATION ${LIBARCHIVE_LIBRARY})
foreach(part bz2 lzma zstd z)
  find_library(ARCHIVE_PART_${part} ${part} REQUIRED)
  target_link_libraries(LibArchive::LibArchive INTERFACE ${ARCHIVE_PART_${part}})
endforeach()
set(LibArchive_FOUND TRUE)
