// XXH64 agrees with the reference library (libxxhash 0.8.1) at every path of its tail, however the
// bytes are cut.
#include "proto/core/hash.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless {
namespace {

struct Known {
    std::size_t length;
    std::uint64_t hash;
};

// Of bytes b[i] = (7 i + 3) mod 256, by XXH64() of libxxhash 0.8.1 with seed 0.
constexpr Known known[] = {
    {0, 0xEF46DB3751D8E999ULL},   {1, 0x1F25C8D0BC1F4BB6ULL},    {3, 0x31D2363F52E564C9ULL},
    {4, 0x9BB64B7D66EE9FDAULL},   {7, 0x9A7B149959CE60D8ULL},    {8, 0xDAB99D95C6F90092ULL},
    {12, 0xD52E407833AF5133ULL},  {31, 0xA2AA5F33CC4A6119ULL},   {32, 0x23C3C17EF790FD97ULL},
    {33, 0x50A7CFC7BA588784ULL},  {63, 0x5E3E54B431C7493CULL},   {64, 0x0EB64B3EF6EEB01FULL},
    {100, 0xA61F8D4C170FE531ULL}, {1000, 0x5F235FA033F1A3FBULL}, {4095, 0x2517D5EEE2C14C64ULL},
};

std::string pattern(std::size_t length) {
    std::string bytes(length, '\0');
    for (std::size_t i = 0; i < length; ++i) {
        bytes[i] = static_cast<char>((i * 7 + 3) % 256);
    }
    return bytes;
}

// Whole, the reference values come out.
TEST(Xxh64, AgreesWithTheReferenceLibrary) {
    for (const Known& one : known) {
        Xxh64 hash;
        hash.add(pattern(one.length));
        EXPECT_EQ(hash.value(), one.hash) << one.length;
    }
}

// Cut in two at every place, and byte by byte, the value stays.
TEST(Xxh64, DoesNotDependOnTheCuts) {
    const std::string bytes = pattern(100);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        Xxh64 hash;
        hash.add(std::string_view(bytes).substr(0, cut));
        hash.add(std::string_view(bytes).substr(cut));
        EXPECT_EQ(hash.value(), 0xA61F8D4C170FE531ULL) << cut;
    }
    Xxh64 hash;
    for (const char byte : bytes) {
        hash.add({&byte, 1});
    }
    EXPECT_EQ(hash.value(), 0xA61F8D4C170FE531ULL);
}

}  // namespace
}  // namespace driftless
