// What everything stands on: results, hashes, lists, numbers exactly as texts say them.

#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/lists.hpp"
#include "proto/core/numbers.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

TEST(ErrorCode, HasANameAndAReasonInWords) {
    const std::pair<ErrorCode, const char*> names[] = {
        {ErrorCode::bad_json, "bad_json"},   {ErrorCode::bad_http, "bad_http"},
        {ErrorCode::too_large, "too_large"}, {ErrorCode::out_of_range, "out_of_range"},
        {ErrorCode::missing, "missing"},     {ErrorCode::truncated, "truncated"},
        {ErrorCode::not_found, "not_found"}, {ErrorCode::denied, "denied"},
        {ErrorCode::refused, "refused"},     {ErrorCode::unreachable, "unreachable"},
        {ErrorCode::reset, "reset"},         {ErrorCode::closed, "closed"},
        {ErrorCode::timed_out, "timed_out"}, {ErrorCode::cancelled, "cancelled"},
        {ErrorCode::exhausted, "exhausted"}, {ErrorCode::unsupported, "unsupported"},
        {ErrorCode::io_failed, "io_failed"}, {ErrorCode::exists, "exists"},
        {ErrorCode::invalid, "invalid"},
    };
    EXPECT_EQ(std::size(names), static_cast<std::size_t>(ErrorCode::invalid) + 1) << "all of them";
    for (const auto& [code, name] : names) {
        EXPECT_STREQ(name_of(code), name);
    }
    // A person reads what the system says, or words; never the name of a code.
    EXPECT_EQ(reason_of({ErrorCode::not_found, ENOENT, "open"}), "No such file or directory");
    EXPECT_EQ(reason_of({ErrorCode::too_large, 0, "read a line"}), "too large");
    for (int code = 0; code <= static_cast<int>(ErrorCode::invalid); ++code) {
        const std::string said = reason_of({static_cast<ErrorCode>(code), 0, ""});
        EXPECT_EQ(said.find('_'), std::string::npos) << said;
        EXPECT_FALSE(said.empty());
    }
}

// XXH64 agrees with the reference library (libxxhash 0.8.1) at every path of its tail, however the
// bytes are cut.

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
    // Cut in two at every place, and byte by byte, the value stays.
    const std::string bytes = pattern(100);
    each_cut(bytes, [](const std::vector<std::string_view>& pieces) {
        Xxh64 hash;
        for (const std::string_view piece : pieces) {
            hash.add(piece);
        }
        EXPECT_EQ(hash.value(), 0xA61F8D4C170FE531ULL) << pieces.front().size();
    });
}

struct Item {
    int number = 0;
    Item* next = nullptr;
    Item* before = nullptr;
};
using Items = LinkedList<Item>;
using Numbers = std::vector<int>;

// Read in both directions: the links say the same.
Numbers numbers_of(const Items& list) {
    Numbers forward;
    Numbers backward;
    for (const Item* item = list.first; item != nullptr; item = item->next) {
        forward.push_back(item->number);
    }
    for (const Item* item = list.last; item != nullptr; item = item->before) {
        backward.push_back(item->number);
    }
    std::reverse(backward.begin(), backward.end());
    EXPECT_EQ(forward, backward);
    EXPECT_EQ(std::tuple(list.count, list.empty()), std::tuple(forward.size(), forward.empty()));
    return forward;
}

struct Four {
    std::array<Item, 4> items;
    Items list;
    Four() {
        for (int i = 0; i < 4; ++i) {
            items[static_cast<std::size_t>(i)].number = i;
            list.push_back(items[static_cast<std::size_t>(i)]);
        }
    }
};

TEST(LinkedList, IsFirstInFirstOutAndRemovesFromAnyPlace) {
    Four four;
    EXPECT_EQ(numbers_of(four.list), (Numbers{0, 1, 2, 3}));
    for (Item& item : four.items) {
        EXPECT_EQ(four.list.pop_front(), &item);
    }
    EXPECT_EQ(four.list.pop_front(), nullptr);
    EXPECT_EQ(numbers_of(four.list), Numbers{});
    Items list;
    std::array<Item, 3> items{Item{1}, Item{2}, Item{3}};
    for (Item& item : items) {
        list.push_front(item);
    }
    EXPECT_EQ(numbers_of(list), (Numbers{3, 2, 1}));
    // From the front, the middle and the end; what was removed can stand on a list again.
    for (std::size_t place = 0; place < 4; ++place) {
        Four other_four;
        Item& item = other_four.items[place];
        other_four.list.remove(item);
        EXPECT_EQ(std::tuple(item.next, item.before), std::tuple(nullptr, nullptr));
        Numbers left{0, 1, 2, 3};
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
        EXPECT_EQ(numbers_of(other_four.list), left);
        other_four.list.push_back(item);
        left.push_back(item.number);
        EXPECT_EQ(numbers_of(other_four.list), left);
    }
    Items other_list;
    Item item;
    other_list.push_front(item);
    other_list.remove(item);
    EXPECT_EQ(numbers_of(other_list), Numbers{});
    other_list.push_back(item);
    EXPECT_EQ(numbers_of(other_list), Numbers{0});
}

// Against a deque that nobody can get wrong.
TEST(LinkedList, AgreesWithADeque) {
    std::vector<Item> items(16);
    Items list;
    std::deque<int> expected;
    Random random(3);
    for (int step = 0; step < 2'000; ++step) {
        const auto number = static_cast<int>(random.below(items.size()));
        Item& item = items[static_cast<std::size_t>(number)];
        item.number = number;
        const auto there = std::find(expected.begin(), expected.end(), number);
        if (there != expected.end()) {
            list.remove(item);
            expected.erase(there);
        } else if (random.below(2) == 0) {
            list.push_back(item);
            expected.push_back(number);
        } else {
            list.push_front(item);
            expected.push_front(number);
        }
        ASSERT_EQ(numbers_of(list), Numbers(expected.begin(), expected.end()));
    }
}

// Decimals are read and scaled exactly, at the borders of 64 bits too.

struct Case {
    std::string_view text;
    std::int32_t power;
    std::uint64_t value;
    bool exact;
};

// Values worked out by hand: point moved, digits cut, zeros appended.
TEST(Decimal, ScalesExactly) {
    const Case cases[] = {
        {"0", 6, 0, true},
        {"27482", 6, 27'482'000'000, true},
        {"1.5", 6, 1'500'000, true},
        {"1.0000005", 6, 1'000'000, false},
        {"0.000001", 6, 1, true},
        {"0.0000009", 6, 0, false},
        {".5", 1, 5, true},
        {"5.", 1, 50, true},
        {"1e3", 6, 1'000'000'000, true},
        {"1.25E-2", 6, 12'500, true},
        {"+7", 0, 7, true},
        {"-7", 0, 7, true},
        {"007", 0, 7, true},
        {"0e99999999999", 0, 0, true},
        {"1e-99999999999", 0, 0, false},
        {"18446744073709551615", 0, 18446744073709551615ULL, true},
        {"18446744073709551615.9", 0, 18446744073709551615ULL, false},
        {"0.000000000000000000000000000001e30", 0, 1, true},
        // An epoch in ns that a double cannot hold.
        {"1732060800123456789", 0, 1732060800123456789ULL, true},
        {"1732060800.123456789", 9, 1732060800123456789ULL, true},
    };
    for (const Case& one : cases) {
        const auto decimal = scan_decimal(one.text);
        ASSERT_TRUE(decimal.has_value()) << one.text;
        const auto scaled = scale(*decimal, one.power);
        ASSERT_TRUE(scaled) << one.text;
        EXPECT_EQ(scaled.value().value, one.value) << one.text;
        EXPECT_EQ(scaled.value().exact, one.exact) << one.text;
    }
}

// What does not fit 64 bits is refused, not wrapped.
TEST(Decimal, RefusesWhatDoesNotFit) {
    for (const std::string_view text :
         {"18446744073709551616", "1e20", "1e99999999999", "99999999999999999999999999"}) {
        const auto decimal = scan_decimal(text);
        ASSERT_TRUE(decimal.has_value()) << text;
        EXPECT_FALSE(scale(*decimal, 0)) << text;
    }
    EXPECT_TRUE(scale(*scan_decimal("1.8446744073709551615e13"), 6));
    EXPECT_FALSE(scale(*scan_decimal("18446744073709.551616"), 6));
    // Texts that are no decimal number.
    for (const std::string_view text :
         {"", ".", "-", "+-1", "1e", "1e+", "e5", "NaN", "Infinity", "inf", "0x10", " 1", "1 ",
          "1,5", "1.2.3", "--1", "\"1\""}) {
        EXPECT_FALSE(scan_decimal(text).has_value()) << text;
    }
    // Whole numbers may be written as decimals; fractions and negatives are told apart.
    EXPECT_EQ(parse_whole("512.0").value(), 512U);
    EXPECT_EQ(parse_whole("5.12e2").value(), 512U);
    EXPECT_EQ(parse_whole("-0").value(), 0U);
    EXPECT_EQ(parse_whole("18446744073709551615").value(), 18446744073709551615ULL);
    EXPECT_EQ(parse_whole("512.5").error().code, ErrorCode::invalid);
    EXPECT_EQ(parse_whole("x").error().code, ErrorCode::invalid);
    EXPECT_EQ(parse_whole("-1").error().code, ErrorCode::out_of_range);
    EXPECT_EQ(parse_whole("18446744073709551616").error().code, ErrorCode::out_of_range);
}

// Logarithm and exponential are those of the C library within a few units of the last place, and
// give the same bits everywhere.

constexpr int draws = 200'000;

std::uint64_t digest_of(double (*function)(double), double from, double to) {
    Random random(7);
    Digest digest;
    for (int i = 0; i < 10'000; ++i) {
        const double value = function(from + (to - from) * random.uniform());
        digest.add_u64(std::bit_cast<std::uint64_t>(value));
    }
    return digest.value();
}

TEST(PortableMath, IsThatOfTheLibrary) {
    Random random(1);
    for (int i = 0; i < draws; ++i) {
        const double x =
            std::ldexp(1.0 - random.uniform(), static_cast<int>(random.below(120)) - 60);
        const double log_error = std::abs(portable_log(x) - std::log(x));
        ASSERT_LE(log_error, 4 * 0x1p-53 * std::max(1e-300, std::abs(std::log(x)))) << x;
        const double y = 1400 * (random.uniform() - 0.5);
        ASSERT_LE(std::abs(portable_exp(y) - std::exp(y)), 8 * 0x1p-53 * std::exp(y)) << y;
    }
    EXPECT_EQ(portable_log(1), 0);
    EXPECT_EQ(std::tuple(portable_exp(0), portable_exp(-701)), std::tuple(1, 0));
    // Golden: who changes them changes every schedule that was drawn.
    EXPECT_EQ(digest_of(portable_log, 1e-9, 1), 7'579'813'050'726'025'987U);
    EXPECT_EQ(digest_of(portable_exp, -50, 0), 8'240'685'676'949'050'258U);
}

}  // namespace
}  // namespace driftless
