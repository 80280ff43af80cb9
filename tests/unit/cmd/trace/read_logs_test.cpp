// Block ids say which prompts begin alike, no more and no less, and only under their secret.

#include "cmd/trace/read_logs.hpp"

#include "engine/plan/compressed_files.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

using Ids = std::vector<std::uint64_t>;

Ids ids_of(const std::vector<TokenId>& tokens, std::uint32_t length, std::uint32_t size = 16,
           std::string_view salt = "0123456789abcdef") {
    Result<KeyedHash> hash = KeyedHash::create(salt);
    EXPECT_TRUE(hash);
    Ids ids;
    PromptBlocks(hash.value(), size).append(tokens, length, ids);
    return ids;
}

Ids ids_of(const std::vector<TokenId>& tokens) {
    return ids_of(tokens, static_cast<std::uint32_t>(tokens.size()));
}

std::vector<TokenId> tokens_from(std::uint64_t seed, std::size_t count) {
    Random random(seed);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens) {
        token = static_cast<TokenId>(random.below(50'000));
    }
    return tokens;
}

std::size_t shared(const Ids& a, const Ids& b) {
    const std::set<std::uint64_t> known(a.begin(), a.end());
    return static_cast<std::size_t>(
        std::count_if(b.begin(), b.end(), [&](std::uint64_t id) { return known.contains(id); }));
}

// Two prompts that are equal for exactly `common` tokens share exactly the blocks that lie within
// them, wherever that is, and share them at the front.
TEST(PromptBlocks, ShareExactlyTheChainOfTheCommonPrefix) {
    const std::vector<TokenId> one = tokens_from(1, 100);
    for (std::size_t common = 0; common <= 100; ++common) {
        std::vector<TokenId> other = one;
        for (std::size_t i = common; i < other.size(); ++i) {
            other[i] = one[i] + 1;
        }
        const Ids a = ids_of(one);
        const Ids b = ids_of(other);
        const std::size_t k = common == 100 ? 7 : common / 16;
        EXPECT_EQ(shared(a, b), k) << common;
        EXPECT_TRUE(std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(k), b.begin()));
    }
    // The same, of prompts of any two lengths of which one begins the other.
    const std::vector<TokenId> tokens = tokens_from(2, 70);
    for (std::uint32_t a = 1; a <= 70; ++a) {
        for (std::uint32_t b = a; b <= 70; ++b) {
            const std::size_t k = a == b ? (a + 15) / 16 : a / 16;
            EXPECT_EQ(shared(ids_of(tokens, a), ids_of(tokens, b)), k) << a << " " << b;
        }
    }
    // Equal blocks behind different ones differ: ids name prefixes.
    const Ids ids = ids_of(std::vector<TokenId>(64, 7));
    EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), 4U);
    const std::vector<TokenId> many = tokens_from(3, 160);
    const Ids sixteen = ids_of(many, 160);
    EXPECT_EQ(sixteen, ids_of(many, 160));
    EXPECT_EQ(shared(sixteen, ids_of(many, 160, 16, "0123456789abcdeg")), 0U);
    EXPECT_EQ(shared(sixteen, ids_of(many, 160, 32)), 0U);
    EXPECT_EQ(ids_of(many, 160, 1).size(), 160U);
    EXPECT_EQ(ids_of(many, 160, 161).size(), 1U);
    // Where the server counted more tokens than the text has, the rest is unknown: the same in a
    // prompt of the same text and length, and in no other. Where it counted fewer, the text is cut.
    const std::vector<TokenId> counted = tokens_from(4, 40);
    const Ids longer = ids_of(counted, 100);
    EXPECT_EQ(std::tuple(longer.size(), longer), std::tuple(7U, ids_of(counted, 100)));
    EXPECT_EQ(shared(longer, ids_of(counted, 99)), 2U);
    EXPECT_EQ(shared(longer, ids_of(counted)), 2U);
    EXPECT_EQ(ids_of(counted, 20), ids_of({counted.begin(), counted.begin() + 20}));
}

// Logs become a trace: the same one from every export, sorted, without a word of their text.

struct Converted {
    bool usable = false;
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;

    std::string first_error() const { return errors.empty() ? "" : to_text(errors.list[0]); }
    bool noted(std::string_view words) const {
        return std::ranges::any_of(notes, [words](const std::string& note) {
            return note.find(words) != std::string::npos;
        });
    }
};

Converted convert(const TraceFiles& files, std::string_view salt = "0123456789abcdef") {
    std::string why;
    Result<Tokenizer> tokenizer = load_tokenizer(TEST_DATA "/tokenizers/llama3.json", why);
    Result<KeyedHash> hash = KeyedHash::create(salt);
    EXPECT_TRUE(tokenizer && hash) << why;
    Converted out;
    out.usable =
        read_logs(files, tokenizer.value(), hash.value(), out.trace, out.errors, out.notes);
    return out;
}

class ReadLogs : public ::testing::Test {
  protected:
    /// A plain log of these lines.
    TraceFiles log(const std::vector<std::string>& lines) {
        std::string text;
        for (const std::string& line : lines) {
            text += line + "\n";
        }
        return TraceFiles{.paths = {folder_.write("log.jsonl", text)}};
    }

  private:
    const ScratchFolder folder_;
};

std::string call(double at, const std::string& more) {
    return R"({"timestamp":)" + std::to_string(1'767'607'200.0 + at) + "," + more + "}";
}

TraceFiles export_of(const char* name) {
    return TraceFiles{.paths = {std::string(TEST_DATA "/logs/") + name}};
}

std::string canonical(const Trace& trace) {
    TraceWriter writer(trace, canonical_target, all_rows(trace));
    std::string text;
    for (const std::string& line : lines_of(writer)) {
        text += line + "\n";
    }
    return text;
}

// A line that no memory should hold ends its file, by name.
TEST_F(ReadLogs, RefusesEndlessLines) {
    const Converted got = convert(log({"{}" + std::string(std::size_t{64} << 20, ' ')}));
    EXPECT_FALSE(got.usable);
    EXPECT_TRUE(says(got.first_error(), "cannot be read: line 1 is longer than 64 MiB"));
}

// A compressed log that breaks off gives its whole lines, and says where it ends.
TEST_F(ReadLogs, KeepsWhatDecodesOfABrokenLog) {
    TraceFiles files = log({});
    files.paths[0] += ".gz";
    {
        OutputSink sink = OutputSink::create(files.paths[0]).value();
        for (int at = 0; at < 2'000; ++at) {
            const std::string word = std::to_string(at * 7919);
            ASSERT_TRUE(
                sink.write(call(at, R"("prompt":")" + word + R"(","response":"a b")") + "\n"));
        }
        ASSERT_TRUE(sink.finish());
    }
    files.lenient = true;
    std::filesystem::resize_file(files.paths[0], std::filesystem::file_size(files.paths[0]) / 2);
    const Converted got = convert(files);
    EXPECT_TRUE(got.usable) << got.first_error();
    EXPECT_GT(got.trace.rows.size(), 100U);
    EXPECT_LT(got.trace.rows.size(), 2'000U);
    EXPECT_TRUE(got.noted("truncated gzip input: read up to line "));
}

// Counts of another tokenizer than the model's are far off, and that is said.
TEST_F(ReadLogs, WarnsOfCountsThatAreFarOff) {
    const auto with = [this](const std::string& tokens) {
        return convert(log({call(0, R"("prompt":"one two three","response":"four","usage":)"
                                    R"({"prompt_tokens":)" +
                                        tokens + R"(,"completion_tokens":1})")}));
    };
    EXPECT_TRUE(
        with("500").noted("most counts are far off; check that --tokenizer is the model's"));
    EXPECT_FALSE(with("3").noted("far off"));
}

TEST_F(ReadLogs, EveryExportIsTheSameTrace) {
    const Converted first = convert(export_of("litellm.jsonl"));
    ASSERT_TRUE(first.usable) << first.first_error();
    ASSERT_EQ(first.trace.rows.size(), 3U);
    EXPECT_EQ(canonical_round_trip(first.trace), "");
    for (const char* name : {"langfuse.jsonl", "otel.json", "otlp.jsonl", "plain.jsonl"}) {
        const Converted other = convert(export_of(name));
        ASSERT_TRUE(other.usable) << name << other.first_error();
        EXPECT_EQ(difference(first.trace, other.trace), "") << name;
    }
}

// The times, lengths and turns that make_logs.py wrote; 23 whole blocks of 16 tokens that the
// first prompt has and the third begins with would be too many: its last tokens open the answer.
TEST_F(ReadLogs, RowsSayWhatTheLogSays) {
    const Converted got = convert(export_of("plain.jsonl"));
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(std::tuple(trace.rows[0].at_ns, trace.rows[1].at_ns), std::tuple(0, 1'000'000'000));
    EXPECT_EQ(trace.rows[2].at_ns, 4'125'000'000);
    EXPECT_EQ(trace.rows[2].input_length, 397U);
    EXPECT_EQ(std::tuple(trace.rows[2].output_length, trace.rows[2].ids_count, trace.rows[2].turn),
              std::tuple(21U, 25U, 2U));
    EXPECT_EQ(trace.rows[2].session, trace.rows[0].session);
    EXPECT_NE(trace.rows[1].session, trace.rows[0].session);
    ASSERT_EQ(trace.dependencies.size(), 1U);
    EXPECT_EQ(trace.dependencies[0].trigger, Trigger::completion);
    EXPECT_EQ(trace.dependencies[0].delay_ns, 2'875'000'000);
    EXPECT_TRUE(got.noted("1 failed call left out"));
    EXPECT_TRUE(got.noted("1 row retries a failed call"));
    EXPECT_TRUE(got.noted("from usage 926, from our count"));
}

TEST_F(ReadLogs, NothingOfTheLogLeaves) {
    TraceFiles files = export_of("litellm.jsonl");
    const std::string log = read_bytes(files.paths[0]);
    const std::string out = canonical(convert(files).trace);
    std::string word;
    std::size_t words = 0;
    for (const char c : log + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            word += c;
            continue;
        }
        // Words of our own header and keys, and numbers short enough to be lengths, may be there.
        constexpr std::string_view ours[] = {"litellm", "session", "trace", "completion"};
        const bool own = std::find(std::begin(ours), std::end(ours), word) != std::end(ours);
        if (word.size() > 4 && !own) {
            EXPECT_FALSE(says(out, word)) << word;
            ++words;
        }
        word.clear();
    }
    EXPECT_GT(words, 100U);
    files.keep = {"model_group"};
    EXPECT_TRUE(says(canonical(convert(files).trace), R"("model_group":"harbour")"));
}

TEST_F(ReadLogs, TheSaltDecidesTheIds) {
    const Converted one = convert(export_of("plain.jsonl"));
    const Converted other = convert(export_of("plain.jsonl"), "0123456789abcdeF");
    EXPECT_EQ(plain_ids(one.trace.ids), plain_ids(convert(export_of("plain.jsonl")).trace.ids));
    const BlockIdSpan ids = one.trace.ids.span(0, one.trace.ids.size());
    for (const std::uint64_t id : other.trace.ids.span(0, other.trace.ids.size())) {
        EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 0);
    }
}

TEST_F(ReadLogs, SortsAndDropsWhatComesTwice) {
    const std::string late = call(5, R"("id":"a","prompt":"late","response":"x")");
    const std::string soon = call(2, R"("id":"b","prompt":"soon soon","response":"x")");
    const Converted got = convert(log({late, soon, late}));
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.rows.size(), 2U);
    EXPECT_EQ(got.trace.rows[1].at_ns, 3'000'000'000);
    EXPECT_EQ(got.trace.rows_unsorted, 1U);
    EXPECT_TRUE(got.noted("1 call that the log holds twice"));
    EXPECT_TRUE(got.noted("2 prompts without usage"));
    EXPECT_TRUE(got.noted("2 answers without usage"));
}

// Turns that overlap, or follow one of unknown end, wait for its sending, with the recorded gap.
TEST_F(ReadLogs, TurnsThatOverlapWaitForTheSending) {
    const auto turn = [](double at, const std::string& more) {
        return call(at, R"("session_id":"s","prompt":"p","response":"x")" + more);
    };
    const Converted got =
        convert(log({turn(0, R"(,"end_time":1767607203)"), turn(1, ""), turn(5, "")}));
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.dependencies.size(), 2U);
    EXPECT_EQ(got.trace.dependencies[0].trigger, Trigger::dispatch);
    EXPECT_EQ(got.trace.dependencies[0].delay_ns, 1'000'000'000);
    EXPECT_EQ(got.trace.dependencies[1].trigger, Trigger::dispatch);
    EXPECT_EQ(got.trace.dependencies[1].delay_ns, 4'000'000'000);
    EXPECT_TRUE(got.noted("2 calls have no end"));
}

TEST_F(ReadLogs, RefusesWhatItCannotKnow) {
    const std::string no_text =
        call(0, R"("request":{},"usage":{"prompt_tokens":40,"completion_tokens":2})");
    const std::string no_answer = call(1, R"("prompt":"words and words")");
    const std::string nothing = call(2, R"("request":{},"response":"x")");
    const Converted got = convert(log({no_text, no_answer, nothing}));
    EXPECT_FALSE(got.usable);
    ASSERT_EQ(got.errors.count, 3U);
    EXPECT_TRUE(says(to_text(got.errors.list[0]), "--lenient keeps its length"));
    EXPECT_TRUE(says(to_text(got.errors.list[1]), "--lenient takes 1 token"));
    EXPECT_TRUE(says(to_text(got.errors.list[2]), "--lenient leaves the call out"));
    EXPECT_FALSE(says(got.first_error(), "words and"));

    TraceFiles lenient = log({no_text, no_answer});
    lenient.lenient = true;
    const Converted fixed = convert(lenient);
    ASSERT_TRUE(fixed.usable) << fixed.first_error();
    EXPECT_EQ(fixed.trace.rows[0].input_length, 40U);
    EXPECT_EQ(fixed.trace.rows[0].ids_count, 0U);
    EXPECT_EQ(fixed.trace.rows_uncovered, 1U);
    EXPECT_EQ(fixed.trace.rows[1].output_length, 1U);
    EXPECT_EQ(canonical_round_trip(fixed.trace), "");

    // A log without any text is a trace of lengths.
    TraceFiles lengths = log({no_text});
    lengths.lenient = true;
    const Converted bare = convert(lengths);
    ASSERT_TRUE(bare.usable) << bare.first_error();
    EXPECT_EQ(bare.trace.block_size, 0U);
    EXPECT_EQ(canonical_round_trip(bare.trace), "");
}

TEST_F(ReadLogs, NamesFilesThatHoldNothing) {
    EXPECT_TRUE(
        says(convert(TraceFiles{.paths = {"/nowhere/log.jsonl"}}).first_error(), "No such file"));
    EXPECT_TRUE(says(convert(log({})).first_error(), "no answered request"));
    const Converted failed = convert(log({call(0, R"("prompt":"x","status":500)")}));
    EXPECT_TRUE(says(failed.first_error(), "no answered request"));
}

// A conversation that goes on begins with the tokens of the shorter one, at every message.

Tokenizer tokenizer() {
    std::string why;
    Result<Tokenizer> loaded = load_tokenizer(TEST_DATA "/tokenizers/llama3.json", why);
    EXPECT_TRUE(loaded) << why;
    return std::move(loaded).value();
}

TEST(Render, IsRoleAndTextAndKeepsPrefixes) {
    Tokenizer tokens = tokenizer();
    std::vector<TokenId> ids;
    render(std::vector<LogMessage>{{"system", "Be short."}, {"user", "Why?"}}, tokens, ids);
    EXPECT_EQ(tokens.decode(ids), "system\nBe short.\nuser\nWhy?\nassistant\n");
    render(std::vector<LogMessage>{{"", "Once upon a time"}}, tokens, ids);
    EXPECT_EQ(tokens.decode(ids), "Once upon a time");
    render({}, tokens, ids);
    EXPECT_TRUE(ids.empty());
    Tokenizer other_tokens = tokenizer();
    // Borders where tokens of a whole text would merge across: blanks, newlines, half words.
    const std::vector<LogMessage> all = {{"user", "a\n\n"}, {"assistant", " b\n"},
                                         {"user", "c "},    {"assistant", "ont"},
                                         {"tool", "inue"},  {"user", "\n"}};
    std::vector<TokenId> whole;
    render(all, other_tokens, whole);
    std::vector<TokenId> head;
    for (const std::size_t count : {1, 3, 5}) {
        render(std::span(all).first(count), other_tokens, head);
        if (all[count].role == "user") {
            std::vector<TokenId> opening;
            other_tokens.encode("assistant\n", opening);
            head.resize(head.size() - opening.size());
        }
        ASSERT_LT(head.size(), whole.size());
        EXPECT_TRUE(std::equal(head.begin(), head.end(), whole.begin())) << count;
    }
}

}  // namespace
}  // namespace driftless
