#include "cmd/replay/workload/dataset.hpp"

#include <time.h>

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

double monotonic_seconds() {
    timespec now{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void print_text(const std::string& dataset, const LoadedCorpus& text, double seconds) {
    const CorpusFigures& figures = text.figures;
    const double megabytes = static_cast<double>(figures.bytes) / 1e6;
    print_line("dataset: %llu texts of %s%s%s%s, %.1f MB: %u tokens (%.1f s, %.1f MB/s)",
               static_cast<unsigned long long>(figures.texts), dataset.c_str(),
               text.column.empty() ? "" : " (", text.column.c_str(), text.column.empty() ? "" : ")",
               megabytes, text.corpus.tokens(), seconds, megabytes / seconds);
    if (!text.is_whole) {
        print_line("dataset: only the first %zu MiB of text are used", Corpus::bytes_max >> 20);
    }
    const std::uint64_t left_out = figures.left_out_bytes;
    if (left_out > 0) {
        print_line(
            "dataset: %llu bytes are left out (special tokens, control characters, long "
            "runs of one character)",
            static_cast<unsigned long long>(left_out));
    }
    if (figures.words_put_in > 0) {
        print_line("dataset: %llu words were inserted where the text cannot be cut",
                   static_cast<unsigned long long>(figures.words_put_in));
    }
}

int refuse(const std::string& dataset, const TraceRow& row, const std::string& why) {
    complain("driftless: --dataset %s: the row at line %u %s", dataset.c_str(), row.line,
             why.c_str());
    return exit_input;
}

}  // namespace

OrExit<LoadedCorpus> choose_text(const PromptFlags& prompts, Tokenizer& tokenizer,
                                 const WordTable& words) {
    std::string why;
    const double begin = monotonic_seconds();
    Result<LoadedCorpus> loaded =
        load_corpus(prompts.dataset, prompts.dataset_column, tokenizer, words.word(0), why);
    if (!loaded) {
        complain("driftless: --dataset %s", why.c_str());
        return exit_input;
    }
    print_text(prompts.dataset, loaded.value(), monotonic_seconds() - begin);
    return std::move(loaded).value();
}

int check_text(const std::string& dataset, const Workload& workload,
               const std::optional<LoadedCorpus>& text) {
    if (!text) {
        return exit_done;
    }
    const std::uint32_t tokens = text->corpus.tokens();
    for (const Planned& planned : workload.plan.rows) {
        const TraceRow& row = workload.trace.rows[planned.row];
        if (row.ids_count > 0) {
            return refuse(dataset, row,
                          "has block ids, but --dataset is for rows without; remove --dataset");
        }
        if (row.input_length > tokens && workload.trace.body_of(row).empty()) {
            return refuse(dataset, row,
                          "asks for " + std::to_string(row.input_length) +
                              " tokens, but the dataset has " + std::to_string(tokens) +
                              "; use a longer dataset, or exclude such rows");
        }
    }
    return exit_done;
}

void write_text(JsonWriter& json, const std::string& dataset,
                const std::optional<LoadedCorpus>& text) {
    json.key("dataset");
    if (!text) {
        json.null();
        return;
    }
    const CorpusFigures& figures = text->figures;
    char digest[17];
    std::snprintf(digest, sizeof(digest), "%016llx",
                  static_cast<unsigned long long>(text->corpus.digest()));
    json.begin_object();
    json.key("file").string(dataset);
    json.key("column");
    text->column.empty() ? json.null() : json.string(text->column);
    json.key("whole").boolean(text->is_whole);
    json.key("texts").unsigned_integer(figures.texts);
    json.key("empty_texts").unsigned_integer(figures.empty_texts);
    json.key("bytes").unsigned_integer(figures.bytes);
    json.key("bytes_left_out").unsigned_integer(figures.left_out_bytes);
    json.key("sections_left_out").unsigned_integer(figures.sections_left_out);
    json.key("words_put_in").unsigned_integer(figures.words_put_in);
    json.key("pieces").unsigned_integer(text->corpus.pieces());
    json.key("tokens").unsigned_integer(text->corpus.tokens());
    json.key("digest").string(digest);
    json.end_object();
}

}  // namespace driftless
