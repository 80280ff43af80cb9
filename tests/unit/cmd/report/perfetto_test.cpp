// A run as a trace of Perfetto, read back by a small reader of its own: a slice for each record,
// nested soundly, on the track of its lane.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cmd/report/exports.hpp"
#include "proto/run/period.hpp"
#include "proto/run/record.hpp"

namespace driftless {
namespace {

// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding): fields by number.
struct Field {
    std::uint64_t number = 0;  // of varints and 64-bit fields
    std::string_view bytes;    // of those with a length
};
using Fields = std::multimap<std::uint64_t, Field>;

bool take_varint(std::string_view& in, std::uint64_t& out) {
    out = 0;
    for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
        const auto byte = static_cast<std::uint8_t>(in.front());
        in.remove_prefix(1);
        out |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

// False at the end, and where the bytes end inside a field.
bool take_field(std::string_view& in, std::uint64_t& id, Field& out) {
    std::uint64_t key = 0;
    if (!take_varint(in, key)) {
        return false;
    }
    id = key >> 3;
    switch (key & 7) {
        case 0:
            return take_varint(in, out.number);
        case 1:
            if (in.size() < 8) {
                return false;
            }
            std::memcpy(&out.number, in.data(), 8);
            in.remove_prefix(8);
            return true;
        case 2:
            if (std::uint64_t size = 0; take_varint(in, size) && size <= in.size()) {
                out.bytes = in.substr(0, size);
                in.remove_prefix(size);
                return true;
            }
            return false;
        default:
            ADD_FAILURE() << "wire type " << (key & 7);
            return false;
    }
}

Fields fields_of(std::string_view in) {
    Fields fields;
    std::uint64_t id = 0;
    for (Field field; take_field(in, id, field); field = {}) {
        fields.emplace(id, field);
    }
    return fields;
}

std::uint64_t number_of(const Fields& fields, std::uint64_t id) {
    const auto found = fields.find(id);
    return found == fields.end() ? 0 : found->second.number;
}

std::string text_of(const Fields& fields, std::uint64_t id) {
    const auto found = fields.find(id);
    return found == fields.end() ? "" : std::string(found->second.bytes);
}

struct Slice {
    std::string track;
    std::string name;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::size_t depth = 0;
    std::map<std::string, std::string> arguments;
};

struct ReadTrace {
    std::vector<Slice> slices;
    std::vector<Slice> instants;
    std::size_t tracks = 0;
    std::vector<std::string> wrong;
};

// What a viewer makes of the packets: in the order of time, then of the file.
class Reader {
  public:
    ReadTrace read(std::string_view trace) {
        std::uint64_t id = 0;
        std::vector<std::pair<std::uint64_t, Fields>> events;
        for (Field packet; take_field(trace, id, packet); packet = {}) {
            const Fields fields = fields_of(packet.bytes);
            if (fields.contains(12)) {
                add_names(text_of(fields, 12));
            }
            if (fields.contains(60)) {
                const Fields track = fields_of(fields.find(60)->second.bytes);
                tracks_[number_of(track, 1)] = text_of(track, 2);
            }
            if (fields.contains(11)) {
                events.emplace_back(number_of(fields, 8), fields_of(fields.find(11)->second.bytes));
            }
        }
        std::stable_sort(events.begin(), events.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [at, event] : events) {
            add_event(at, event);
        }
        for (const auto& [track, open] : open_) {
            if (!open.empty()) {
                read_.wrong.push_back("a slice has no end: " + open.back().name);
            }
        }
        read_.tracks = tracks_.size();
        return read_;
    }

  private:
    void add_names(const std::string& interned) {
        const Fields all = fields_of(interned);
        for (auto [at, end] = all.equal_range(3); at != end; ++at) {
            const Fields name = fields_of(at->second.bytes);
            names_[number_of(name, 1)] = text_of(name, 2);
        }
    }
    void add_event(std::uint64_t at, const Fields& event) {
        const std::uint64_t track = number_of(event, 11);
        if (!tracks_.contains(track)) {
            read_.wrong.push_back("an event on no track");
        }
        std::vector<Slice>& open = open_[track];
        Slice slice{tracks_[track], text_of(event, 23), at, at, open.size(), {}};
        for (auto [one, end] = event.equal_range(4); one != end; ++one) {
            const Fields argument = fields_of(one->second.bytes);
            slice.arguments[names_[number_of(argument, 1)]] =
                argument.contains(6)   ? text_of(argument, 6)
                : argument.contains(5) ? "a double"
                                       : std::to_string(static_cast<std::int64_t>(
                                             number_of(argument, 4) + number_of(argument, 2)));
        }
        const std::uint64_t type = number_of(event, 9);
        if (type == 1) {
            open.push_back(slice);
        } else if (type == 3) {
            read_.instants.push_back(slice);
        } else if (type != 2 || open.empty()) {
            read_.wrong.push_back("an end without a beginning");
        } else {
            open.back().to = at;
            read_.slices.push_back(open.back());
            open.pop_back();
        }
    }

    std::map<std::uint64_t, std::string> names_;
    std::map<std::uint64_t, std::string> tracks_;
    std::map<std::uint64_t, std::vector<Slice>> open_;
    ReadTrace read_;
};

constexpr std::int64_t zero_ns = 1'000'000;

Record record_of(std::uint32_t row, std::uint32_t lane, std::int64_t due, std::int64_t fired,
                 std::int64_t ended) {
    Record record;
    record.row = row;
    record.connection = lane;
    record.reused = true;
    record.due_ns = due;
    record.fired_ns = fired;
    record.drift_ns = fired - due;
    record.sent_ns = fired + 5;
    record.wire_ns = fired + 3;
    record.first_token_ns = fired + 20;
    record.last_token_ns = ended - 1;
    record.ended_ns = ended;
    record.tpot_ns = 1.5;
    record.outcome = Outcome::ok;
    return record;
}

TableRow row_of(const std::string& line, const std::vector<Figure>& columns) {
    JsonDocument document;
    const JsonValue root = document.parse(line).value();
    TableRow row;
    for (const Figure& column : columns) {
        row.push_back(cell_of(value_of(root, column)));
    }
    return row;
}

std::string trace_of(const std::vector<Record>& records) {
    const std::vector<Figure> columns = figures_of(RunTable::requests);
    const std::vector<Figure> event_columns = figures_of(RunTable::events);
    std::vector<std::string_view> names;
    for (const std::vector<Figure>* some : {&columns, &event_columns}) {
        for (const Figure& one : *some) {
            names.push_back(one.name);
        }
    }
    std::string packets;
    PerfettoTrace trace(packets, 7);
    trace.begin(names);
    LaneSlices slices(trace, columns, event_columns, {zero_ns, 99, "a run"});
    for (const Record& record : records) {
        std::string line;
        append_jsonl(line, record);
        slices.add(row_of(line, columns));
    }
    TimedEvent event{.what = "mark", .at_ns = 50, .begin_ns = 60};
    std::string line;
    append_timed_event(line, event);
    slices.add_event(row_of(line, event_columns));
    return packets;
}

std::vector<Slice> requests_in(const ReadTrace& read) {
    std::vector<Slice> requests;
    for (const Slice& slice : read.slices) {
        if (slice.name.starts_with("row ")) {
            requests.push_back(slice);
        }
    }
    return requests;
}

TEST(LaneSlices, ARecordIsASliceWithItsStages) {
    const ReadTrace read = Reader().read(trace_of({record_of(4, 2, 100, 110, 200)}));
    EXPECT_EQ(read.wrong, std::vector<std::string>());
    ASSERT_EQ(read.slices.size(), 5u);
    const auto expect = [&read](std::size_t i, const char* name, std::int64_t from, std::int64_t to,
                                std::size_t depth) {
        EXPECT_EQ(read.slices[i].name, name);
        EXPECT_EQ(read.slices[i].from, static_cast<std::uint64_t>(zero_ns + from)) << name;
        EXPECT_EQ(read.slices[i].to, static_cast<std::uint64_t>(zero_ns + to)) << name;
        EXPECT_EQ(read.slices[i].depth, depth) << name;
        EXPECT_EQ(read.slices[i].track, "lane 2");
    };
    expect(0, "drift", 100, 110, 1);
    expect(1, "send", 110, 115, 1);
    expect(2, "wait", 115, 130, 1);
    expect(3, "tokens", 130, 199, 1);
    expect(4, "row 4", 100, 200, 0);
    const auto& arguments = read.slices[4].arguments;
    EXPECT_EQ(arguments.at("drift_ns"), "10");
    EXPECT_EQ(arguments.at("outcome"), "ok");
    EXPECT_EQ(arguments.at("reused"), "1");
    EXPECT_EQ(arguments.at("tpot_ns"), "a double");
    EXPECT_FALSE(arguments.contains("error"));  // null
    ASSERT_EQ(read.instants.size(), 2u);
    EXPECT_EQ(read.instants[0].name, "mark");
    EXPECT_EQ(read.instants[0].from, static_cast<std::uint64_t>(zero_ns + 60));
    EXPECT_EQ(read.instants[0].arguments.at("at_ns"), "50");
    EXPECT_EQ(read.instants[1].name, "on the wire");
}

// Rows of one lane whose waits overlap, that touch, that take no time, and that are cut off.
TEST(LaneSlices, SlicesNest) {
    std::vector<Record> records{record_of(0, 0, 0, 10, 100), record_of(1, 0, 50, 100, 200),
                                record_of(2, 0, 60, 200, 300), record_of(3, 0, 300, 300, 400),
                                record_of(4, 1, 0, 0, 30)};
    records.push_back(record_of(5, 0, 400, 400, 500));
    records.back().ended_ns.reset();  // interrupted
    records.push_back(record_of(6, 1, 40, 40, 70));
    records.back().first_token_ns.reset();
    records.back().last_token_ns.reset();
    records.back().ended_ns = 40;
    records.push_back(record_of(7, 1, 80, 80, 120));
    records.back().sent_ns = 110;  // answered before it was sent whole
    records.push_back(record_of(8, 0, 90, 90, 95));
    records.back().fired_ns.reset();  // never sent
    records.push_back(record_of(9, 0, 400, 410, 450));
    records.back().segment = 1;  // another connection of that number
    const ReadTrace read = Reader().read(trace_of(records));
    EXPECT_EQ(read.wrong, std::vector<std::string>());
    const std::vector<Slice> requests = requests_in(read);
    EXPECT_EQ(requests.size(), records.size() - 1);
    for (const Slice& slice : requests) {
        EXPECT_EQ(slice.depth, 0u) << slice.name;
    }
    for (const Slice& slice : read.slices) {
        EXPECT_LE(slice.from, slice.to) << slice.name;
    }
    EXPECT_TRUE(std::any_of(read.instants.begin(), read.instants.end(), [](const Slice& one) {
        return one.track == "not sent" && one.name == "row 8";
    }));
}

// Of a trace that ends anywhere, all packets before that place are read.
TEST(LaneSlices, WhatIsCutOffOpens) {
    const std::string trace =
        trace_of({record_of(0, 0, 0, 10, 100), record_of(1, 0, 150, 160, 200)});
    std::size_t slices = 0;
    for (std::size_t size = 0; size <= trace.size(); ++size) {
        const ReadTrace read = Reader().read(std::string_view(trace).substr(0, size));
        EXPECT_GE(read.slices.size(), slices);
        slices = read.slices.size();
    }
    EXPECT_EQ(slices, 10u);
}

// Two traces one behind the other are one.
TEST(LaneSlices, TracesConcatenate) {
    const std::string trace = trace_of({record_of(0, 0, 0, 10, 100)});
    const std::string later = trace_of({record_of(1, 0, 150, 160, 200)});
    const ReadTrace read = Reader().read(trace + later);
    EXPECT_EQ(read.wrong, std::vector<std::string>());
    EXPECT_EQ(requests_in(read).size(), 2u);
}

}  // namespace
}  // namespace driftless
