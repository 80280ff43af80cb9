// A workbook that is read back from its bytes: numbers are numbers, the first line is frozen and
// filters, and what is too long for a sheet or a cell goes on or is cut.
#include "cmd/report/workbook.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"
#include "tests/unit/unzipped.hpp"

namespace driftless {
namespace {

constexpr std::string_view columns[] = {"a", "b", "c"};

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
        Sheet sheet(book, "table", columns, rows_max);
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
    EXPECT_TRUE(says(sheet, "<c r=\"A2\"><v>9007199254740991</v></c>")) << sheet;
    EXPECT_TRUE(says(sheet, "<c r=\"B2\" t=\"inlineStr\"><is><t>9007199254740992</t>")) << sheet;
    EXPECT_TRUE(says(sheet, "<c r=\"C2\"><v>-1.5</v></c>")) << sheet;
    EXPECT_TRUE(says(sheet, "<c r=\"A3\" t=\"inlineStr\"><is><t>=1+1</t>")) << sheet;
    EXPECT_TRUE(says(sheet, "<c r=\"B3\" t=\"b\"><v>1</v></c>")) << sheet;
    EXPECT_FALSE(says(sheet, "r=\"C3\"")) << sheet;
    EXPECT_TRUE(says(sheet, "<pane ySplit=\"1\"")) << sheet;
    EXPECT_TRUE(says(sheet, "state=\"frozen\"")) << sheet;
    EXPECT_TRUE(says(sheet, "<autoFilter ref=\"A1:C3\"/>")) << sheet;
}

// One row less than a sheet holds, as many, and one more.
// U+FFFE and U+FFFF are valid UTF-8 and may not stand in XML 1.0 (section 2.2).
TEST_F(Workbook, HasOnlyCharactersOfXml) {
    const std::string zip = with({{text_cell("a\xEF\xBF\xBE"
                                             "b\xEF\xBF\xBF"
                                             "\xEF\xBF\xBC")}},
                                 100);
    const std::string sheet = unzipped(zip, "xl/worksheets/sheet1.xml");
    EXPECT_TRUE(says(sheet,
                     "<t>a\xEF\xBF\xBD"
                     "b\xEF\xBF\xBD"
                     "\xEF\xBF\xBC</t>"))
        << sheet;
}

TEST_F(Workbook, GoesOnInAnotherSheet) {
    const TableRow row{number("7"), {}, {}};
    EXPECT_EQ(unzipped(with({row, row}, 4), "xl/worksheets/sheet2.xml"), "");
    EXPECT_EQ(unzipped(with({row, row, row}, 4), "xl/worksheets/sheet2.xml"), "");
    const std::string zip = with({row, row, row, row}, 4);
    const std::string second = unzipped(zip, "xl/worksheets/sheet2.xml");
    EXPECT_TRUE(says(second, "<c r=\"A2\"><v>7</v></c>")) << second;
    EXPECT_TRUE(says(second, "<t>a</t>")) << second;
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
    EXPECT_TRUE(says(sheet, "<t>" + most + "</t></is></c><c r=\"B2\""));
    EXPECT_TRUE(says(sheet, "<t>" + most + "</t></is></c><c r=\"C2\""));
    EXPECT_TRUE(says(sheet, "<t>" + most.substr(1) + "</t></is></c></row>"));
}

}  // namespace
}  // namespace driftless
