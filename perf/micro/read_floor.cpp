// The floor of reading a Mooncake trace: the file, mapped into memory, and every number of every
// row by simdjson's on-demand parser, summed up and forgotten. read_floor FILE prints rows, ids,
// and the seconds that it took.
#include <simdjson.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

int main(int argc, char** argv) {
    const auto begun = std::chrono::steady_clock::now();
    if (argc != 2) {
        std::fprintf(stderr, "usage: read_floor FILE\n");
        return 2;
    }
    simdjson::padded_string text;
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document_stream rows;
    if (simdjson::padded_string::load(argv[1]).get(text) != simdjson::SUCCESS ||
        parser.iterate_many(text).get(rows) != simdjson::SUCCESS) {
        std::fprintf(stderr, "read_floor: %s cannot be read\n", argv[1]);
        return 1;
    }
    std::uint64_t count = 0;
    std::uint64_t ids = 0;
    std::uint64_t sum = 0;
    for (auto row : rows) {
        ++count;
        for (const char* key : {"timestamp", "input_length", "output_length"}) {
            std::uint64_t value = 0;
            sum += row[key].get(value) == simdjson::SUCCESS ? value : 0;
        }
        simdjson::ondemand::array list;
        if (row["hash_ids"].get(list) != simdjson::SUCCESS) {
            continue;
        }
        for (auto id : list) {
            std::uint64_t value = 0;
            sum += id.get(value) == simdjson::SUCCESS ? value : 0;
            ++ids;
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::printf("%llu %llu %.3f %llu\n", static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(ids), took.count(),
                static_cast<unsigned long long>(sum));
    return 0;
}
