// Figures as text, workbook and Perfetto trace.

#include "cmd/report/exports.hpp"

#include <archive.h>
#include <archive_entry.h>

#include "cmd/report/report.hpp"
#include "cmd/report/workbook.hpp"
#include "proto/run/period.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

/// Empty where the archive has no such file.
inline std::string unzipped(const std::string& zip, std::string_view name) {
    struct archive* const reader = archive_read_new();
    archive_read_support_format_zip(reader);
    std::string text;
    struct archive_entry* entry = nullptr;
    if (archive_read_open_memory(reader, zip.data(), zip.size()) == ARCHIVE_OK) {
        while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
            char piece[4096];
            while (archive_entry_pathname(entry) == name) {  // until the file ends
                const auto size = archive_read_data(reader, piece, sizeof piece);
                if (size <= 0) {
                    break;
                }
                text.append(piece, static_cast<std::size_t>(size));
            }
        }
    }
    archive_read_free(reader);
    return text;
}

// Words of others inside XML and Markdown: shown as they are, and nothing in them is markup.

namespace {

std::string xml(std::string_view text) {
    std::string out;
    append_xml_text(out, text);
    return out;
}

TEST(EscapedText, XmlAndMarkdown) {
    expect_each(xml, gives("a<b> & \"c\" 'd'", "a&lt;b&gt; &amp; &quot;c&quot; 'd'"),
                gives("]]>", "]]&gt;"), gives("a\nb\t", "a\\u000ab\\u0009"), gives("", ""));
    EXPECT_EQ(xml(std::string_view("\0\x1b", 2)), "\\u0000\\u001b");
    EXPECT_EQ(xml("\xff"), "\xEF\xBF\xBD");
    // U+FFFE and U+FFFF are UTF-8, and no XML characters; U+FFFD is one.
    EXPECT_EQ(std::tuple(xml("a\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBD"), xml("\xE4\xB8\xAD")),
              std::tuple("a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", "\xE4\xB8\xAD"));
    expect_each(
        markdown_text, gives("a|b", "a\\|b"),
        gives("<img>&amp;[x](y)`c`*d*_e_", "\\<img\\>\\&amp;\\[x\\](y)\\`c\\`\\*d\\*\\_e\\_"),
        gives("a\n# b", "a\\\\u000a\\# b"), gives("plain 1.5 %", "plain 1.5 %"));
}

std::string field(std::string_view text) {
    std::string out;
    append_csv_field(out, text);
    return out;
}

// The examples of RFC 4180, sections 2.5 to 2.7, and each character that needs quotes alone.
TEST(CsvField, QuotesWhatNeedsItAndHoldsNoFormula) {
    expect_each(field, gives("aaa", "aaa"), gives("", ""), gives("b \r\nbb", "\"b \r\nbb\""),
                gives("b\"bb", "\"b\"\"bb\""), gives(",", "\",\""), gives("a\n", "\"a\n\""),
                gives("a\r", "\"a\r\""), gives("\"\"", "\"\"\"\"\"\""),
                gives(" a;b\t'c'", " a;b\t'c'"));
    // Names and messages come from servers: a spreadsheet computes none of them.
    EXPECT_EQ(field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
    EXPECT_EQ(field("=1,2"), "\"'=1,2\"");
    for (const char* text : {"@SUM(0)", "+1+1", "-1+1", "-", "\ta", "\uFF1D1", "\uFF0B1"}) {
        EXPECT_EQ(field(text), std::string("'") + text);
    }
    for (const char* text : {"-1", "-1.5e-3", "-0", "a=b", "1-2", "'=1"}) {
        EXPECT_EQ(field(text), text);
    }
}

// What others said stays text inside a page, and base64 is that of RFC 4648.

std::string base64(std::string_view text) {
    return base64_of({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// No "<" at all is left, so that no script can end; the JSON reader sees the same words.
TEST(Html, HoldsJsonInAScriptAndBase64) {
    for (const char* words :
         {"</script><script>alert(1)</script>", "<!--<script>", "<", "", "a<"}) {
        std::string json;
        JsonWriter(json).string(words);
        std::string script;
        append_script_json(script, json);
        EXPECT_EQ(script.find('<'), script.npos) << script;
        EXPECT_EQ(JsonText(script).root.as_string(), words);
    }
    // The test vectors of RFC 4648, section 10.
    expect_each(base64, gives("", ""), gives("f", "Zg=="), gives("fo", "Zm8="),
                gives("foo", "Zm9v"), gives("foob", "Zm9vYg=="), gives("fooba", "Zm9vYmE="),
                gives("foobar", "Zm9vYmFy"));
    EXPECT_EQ(base64("\xFB\xEF\xFF"), "++//");
}

// A workbook that is read back from its bytes: numbers are numbers, the first line is frozen and
// filters, and what is too long for a sheet or a cell goes on or is cut.

constexpr std::string_view three_columns[] = {"a", "b", "c"};

TableCell number(const char* digits) {
    return {CellKind::number, digits};
}

class Workbook : public testing::Test {
  protected:
    // The file of a workbook with one table of these rows.
    std::string with(const std::vector<TableRow>& rows, std::uint32_t rows_max) {
        const std::string path = folder_ / "book.xlsx";
        lxw_workbook_options options{};
        options.constant_memory = LXW_TRUE;
        lxw_workbook* const book = workbook_new_opt(path.c_str(), &options);
        Sheet sheet(book, "table", three_columns, rows_max);
        for (const TableRow& row : rows) {
            sheet.add(row);
        }
        sheet.finish();
        rows_ = sheet.rows();
        EXPECT_EQ(workbook_close(book), LXW_NO_ERROR);
        return read_bytes(path);
    }

    ScratchFolder folder_;
    std::uint32_t rows_ = 0;
};

TEST_F(Workbook, CellsHaveTheirKinds) {
    const std::string zip =
        with({{number("9007199254740991"), number("9007199254740992"), number("-1.5")},
              {text_cell("=1+1"), {CellKind::boolean, "true"}, {}}},
             100);
    const std::string sheet = unzipped(zip, "xl/worksheets/sheet1.xml");
    EXPECT_TRUE(says(
        sheet,
        {"<c r=\"A2\"><v>9007199254740991</v></c>",
         "<c r=\"B2\" t=\"inlineStr\"><is><t>9007199254740992</t>", "<c r=\"C2\"><v>-1.5</v></c>",
         "<c r=\"A3\" t=\"inlineStr\"><is><t>=1+1</t>", "<c r=\"B3\" t=\"b\"><v>1</v></c>"}));
    EXPECT_FALSE(says(sheet, "r=\"C3\""));
    EXPECT_TRUE(
        says(sheet, {"<pane ySplit=\"1\"", "state=\"frozen\"", "<autoFilter ref=\"A1:C3\"/>"}));
}

// One row less than a sheet holds, as many, and one more.
// U+FFFE and U+FFFF are valid UTF-8 and may not stand in XML 1.0 (section 2.2).
TEST_F(Workbook, HasOnlyCharactersOfXml) {
    const std::string zip = with({{text_cell("a\xEF\xBF\xBE"
                                             "b\xEF\xBF\xBF"
                                             "\xEF\xBF\xBC")}},
                                 100);
    EXPECT_TRUE(says(unzipped(zip, "xl/worksheets/sheet1.xml"),
                     "<t>a\xEF\xBF\xBD"
                     "b\xEF\xBF\xBD"
                     "\xEF\xBF\xBC</t>"));
}

TEST_F(Workbook, GoesOnInAnotherSheet) {
    const TableRow row{number("7"), {}, {}};
    EXPECT_EQ(unzipped(with({row, row}, 4), "xl/worksheets/sheet2.xml"), "");
    EXPECT_EQ(unzipped(with({row, row, row}, 4), "xl/worksheets/sheet2.xml"), "");
    const std::string zip = with({row, row, row, row}, 4);
    const std::string second = unzipped(zip, "xl/worksheets/sheet2.xml");
    EXPECT_TRUE(says(second, {"<c r=\"A2\"><v>7</v></c>", "<t>a</t>"}));
    EXPECT_TRUE(says(unzipped(zip, "xl/workbook.xml"), "name=\"table 2\""));
    EXPECT_EQ(rows_, 3u);
}

// Excel's limit of a cell is 32,767 characters; a character is never cut in two.
TEST_F(Workbook, CutsTextThatIsTooLong) {
    const std::string most(32767, 'x');
    const std::string sheet = unzipped(
        with({{text_cell(most), text_cell(most + "y"), text_cell(most.substr(1) + "\xC3\xA4")}},
             100),
        "xl/worksheets/sheet1.xml");
    EXPECT_TRUE(says(sheet, {"<t>" + most + "</t></is></c><c r=\"B2\"",
                             "<t>" + most + "</t></is></c><c r=\"C2\"",
                             "<t>" + most.substr(1) + "</t></is></c></row>"}));
}

// A run as a trace of Perfetto, read back by a small reader of its own: a slice for each record,
// nested soundly, on the track of its lane.

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
    return {.row = row,
            .connection = lane,
            .reused = true,
            .due_ns = due,
            .fired_ns = fired,
            .drift_ns = fired - due,
            .wire_ns = fired + 3,
            .sent_ns = fired + 5,
            .first_token_ns = fired + 20,
            .last_token_ns = ended - 1,
            .ended_ns = ended,
            .tpot_ns = 1.5,
            .outcome = Outcome::ok};
}

TableRow row_of(const std::string& line, const std::vector<Figure>& columns) {
    const JsonText json(line);
    TableRow row;
    for (const Figure& column : columns) {
        row.push_back(cell_of(value_of(json.root, column)));
    }
    return row;
}

std::string trace_of(const std::vector<Record>& records) {
    const std::vector<Figure> columns = figures_of(RunTable::requests);
    const std::vector<Figure> event_columns = figures_of(RunTable::events);
    std::string packets;
    PerfettoTrace slices(packets, columns, event_columns, {zero_ns, 99, "a run"});
    for (const Record& record : records) {
        slices.add(row_of(jsonl_of(record), columns));
    }
    std::string line;
    append_json_line(line, TimedEvent{.what = "mark", .at_ns = 50, .begin_ns = 60});
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

TEST(PerfettoTrace, ARecordIsASliceWithItsStages) {
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
    EXPECT_EQ(std::tuple(arguments.at("drift_ns"), arguments.at("outcome"), arguments.at("reused")),
              std::tuple("10", "ok", "1"));
    EXPECT_EQ(arguments.at("tpot_ns"), "a double");
    EXPECT_FALSE(arguments.contains("error"));  // null
    ASSERT_EQ(read.instants.size(), 2u);
    EXPECT_EQ(read.instants[0].name, "mark");
    EXPECT_EQ(read.instants[0].from, static_cast<std::uint64_t>(zero_ns + 60));
    EXPECT_EQ(read.instants[0].arguments.at("at_ns"), "50");
    EXPECT_EQ(read.instants[1].name, "on the wire");
}

// Rows of one lane whose waits overlap, that touch, that take no time, and that are cut off.
TEST(PerfettoTrace, SlicesNest) {
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
TEST(PerfettoTrace, WhatIsCutOffOpensAndTracesConcatenate) {
    const std::string trace =
        trace_of({record_of(0, 0, 0, 10, 100), record_of(1, 0, 150, 160, 200)});
    std::size_t slices = 0;
    for (std::size_t size = 0; size <= trace.size(); ++size) {
        const ReadTrace read = Reader().read(std::string_view(trace).substr(0, size));
        EXPECT_GE(read.slices.size(), slices);
        slices = read.slices.size();
    }
    EXPECT_EQ(slices, 10u);
    // Two traces one behind the other are one.
    const std::string other_trace = trace_of({record_of(0, 0, 0, 10, 100)});
    const std::string later = trace_of({record_of(1, 0, 150, 160, 200)});
    const ReadTrace read = Reader().read(other_trace + later);
    EXPECT_EQ(read.wrong, std::vector<std::string>());
    EXPECT_EQ(requests_in(read).size(), 2u);
}

// An error that is missing is not known where the run has bars, though all of the table are
// missing.
TEST(GroupCells, SayWhichErrorsAreNotKnown) {
    GroupTable table{.key = "kept.tier", .rows = {{"gold", {}}}};
    table.rows[0].figures.assign(group_columns().size(), GroupFigure{.value = 1.0});
    const auto unknown = [&table] {
        return std::ranges::count_if(group_cells(table).lines.at(0),
                                     [](const std::string& cell) { return says(cell, "(?)"); });
    };
    EXPECT_EQ(unknown(), 0);
    table.has_bars = true;
    EXPECT_EQ(unknown(), 4) << "good, and p99 of TTFT, TPOT and E2E";
}

}  // namespace
}  // namespace driftless
