#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "cmd/base/secrets.hpp"
#include "cmd/reading/prefix_cache.hpp"
#include "cmd/reading/trace_figures.hpp"
#include "engine/plan/forecast.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"
#include "proto/trace/agents.hpp"

namespace driftless {

/// A part of a whole; nothing where the whole is 0.
static std::optional<double> rate_of(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? std::nullopt
                      : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

// `put` finds these by the types of their values, so that they are in no namespace of the file.

static void put_value(JsonWriter& json, const Remark& remark) {
    put_object(json,
               {{"text", remark.count == 1 ? remark.one : remark.many}, {"count", remark.count}});
}

static void put_value(JsonWriter& json, const Trace& trace) {
    const std::optional<bool> has_ids =
        trace.block_size == 0 ? std::nullopt : std::optional(trace.tail_rule == TailRule::ceil);
    char digest[17];
    std::snprintf(digest, sizeof digest, "%016" PRIx64, trace.digest);
    put_object(json, {{"format", trace.format},
                      {"time_unit", trace.time_unit},
                      {"block_size", has_ids ? std::optional(trace.block_size) : std::nullopt},
                      {"partial_blocks_have_ids", has_ids},
                      {"name_spaces", trace.name_spaces},
                      {"bytes", trace.bytes},
                      {"digest", digest},
                      {"rows", trace.rows.size()},
                      {"rows_unsorted", trace.rows_unsorted},
                      {"zero_outputs", trace.zero_outputs},
                      {"surplus_ids", trace.surplus_ids},
                      {"rows_uncovered", trace.rows_uncovered},
                      {"unknown_values", trace.unknown_keys},
                      {"remarks", trace.remarks}});
}

static void put_value(JsonWriter& json, const InputError& error) {
    put_object(json, {{"file", error.file},
                      {"line", error.line},
                      {"field", error.field},
                      {"value", mask_members(error.value)},
                      {"problem", error.problem},
                      {"remedy", error.remedy}});
}

static void put_value(JsonWriter& json, const InputErrors& errors) {
    put_object(json, {{"count", errors.count}, {"list", errors.list}});
}

static void put_value(JsonWriter& json, const Burst& burst) {
    put_object(
        json, {{"rows", burst.rows}, {"input_tokens", burst.input_tokens}, {"at_ns", burst.at_ns}});
}

static void put_value(JsonWriter& json, const ArrivalFigures& f) {
    const auto put_windows = [&f](JsonWriter& to) {
        to.begin_array();
        for (std::size_t i = 0; i < windows_ns.size(); ++i) {
            put_object(to, {{"window_ns", windows_ns[i]},
                            {"most_rows", f.peaks[i].rows},
                            {"most_rows_anywhere", f.peaks[i].rows_anywhere},
                            {"most_input_tokens_anywhere", f.peaks[i].input_tokens_anywhere},
                            {"windows", f.dispersion[i].windows},
                            {"dispersion", f.dispersion[i].recorded},
                            {"dispersion_spread", f.dispersion[i].spread}});
        }
        to.end_array();
    };
    put_object(json, {{"span_ns", f.span_ns},
                      {"rows_per_s", f.rows_per_s},
                      {"instants", f.instants},
                      {"largest_instant", f.most_rows},
                      {"heaviest_instant", f.most_tokens},
                      {"windows", put_windows},
                      {"gap_variation", JsonPairs{{"recorded", f.gap_variation},
                                                  {"spread", f.gap_variation_spread}}}});
}

static void put_value(JsonWriter& json, const Timeline& line) {
    put_object(json, {{"bucket_ns", line.bucket_ns},
                      {"rows", line.rows},
                      {"input_tokens", line.input_tokens},
                      {"output_tokens", line.output_tokens},
                      {"blocks_used", line.blocks_used},
                      {"blocks_new", line.blocks_new}});
}

static void put_value(JsonWriter& json, const LengthFigures& f) {
    json.begin_object();
    write_members(json, f.distribution);
    put(json, {{"sum", f.sum}});
    json.key("histogram").begin_array();
    for (std::size_t power = 0; power < f.by_power.size(); ++power) {
        if (f.by_power[power] > 0) {
            put_object(json, {{"from", std::uint64_t{1} << power}, {"rows", f.by_power[power]}});
        }
    }
    json.end_array().end_object();
}

static void put_value(JsonWriter& json, const ContextFigures& f) {
    put_object(json, {{"max_model_len", f.limit},
                      {"rows_over", f.rows_over},
                      {"rows_without_room", f.input_over}});
}

static void put_value(JsonWriter& json, const SessionFigures& f) {
    put_object(json, {{"sessions", f.sessions},
                      {"rows", f.rows},
                      {"rows_each", f.rows_each},
                      {"length_ns", f.length_ns},
                      {"dependencies", f.dependencies},
                      {"overlaps", f.overlaps},
                      {"delay_ns", f.delay_ns}});
}

static void put_value(JsonWriter& json, const CapacityFigures& f) {
    // Hits in blocks and tokens, and their shares of all.
    const auto put_hits = [&](std::uint64_t blocks, std::uint64_t tokens) {
        put(json, {{"hit_blocks", blocks},
                   {"hit_tokens", tokens},
                   {"hit_rate_blocks", rate_of(blocks, f.references)},
                   {"hit_rate_tokens", rate_of(tokens, f.input_tokens)}});
    };
    json.begin_object();
    put(json,
        {{"block_size", f.block_size}, {"references", f.references}, {"distinct", f.distinct}});
    put_hits(f.hit_blocks, f.hit_tokens);
    json.key("sizes").begin_array();
    for (std::size_t i = 0; i < ideal_shares.size(); ++i) {
        put_object(json, {{"share", ideal_shares[i] / 1000.0},
                          {"blocks", f.blocks_for[i]},
                          {"tokens", f.blocks_for[i] * f.block_size}});
    }
    json.end_array().key("curve").begin_array();
    for (const CapacityPoint& point : f.curve) {
        json.begin_object();
        put(json, {{"blocks", point.blocks}, {"tokens", point.blocks * f.block_size}});
        put_hits(point.hit_blocks, point.hit_tokens);
        json.end_object();
    }
    json.end_array().end_object();
}

static void put_value(JsonWriter& json, const FileFigures& f) {
    put_object(json, {{"name", f.name},
                      {"rows", f.rows},
                      {"span_ns", f.span_ns},
                      {"input_tokens", f.input_tokens},
                      {"output_tokens", f.output_tokens},
                      {"references", f.references},
                      {"hit_blocks", f.hit_blocks},
                      {"hit_tokens", f.hit_tokens}});
}

static void put_blocks(JsonWriter& json, const InspectFigures& figures) {
    const BlockFigures& f = figures.blocks;
    put_object(json, {{"references", f.references},
                      {"ids", f.ids},
                      {"prefixes", f.prefixes},
                      {"chained", f.chained()},
                      {"ids_moving", f.ids_moving},
                      {"ids_joining", f.ids_joining},
                      {"ids_of_two_lengths", f.ids_of_two_lengths},
                      {"ids_partial", f.ids_partial},
                      {"ids_partial_shared", f.ids_partial_shared},
                      {"rows_complete", f.rows_complete},
                      {"rows_in_part", f.rows_in_part},
                      {"rows_new", f.rows_new},
                      {"rows_without_ids", f.rows_without_ids},
                      {"expected_cached_tokens", figures.foretold.cached_tokens}});
}

void append_json(std::string& out, const Trace& trace, const InspectFigures& figures) {
    const std::size_t begin = out.size();
    const auto put_ids = [&figures](JsonWriter& json) {
        figures.has_blocks ? put_blocks(json, figures) : put_value(json, nullptr);
    };
    JsonWriter json(out);
    put_object(json, {{"schema", inspect_schema},
                      {"name", trace.name},
                      {"errors", InputErrors()},
                      {"trace", trace},
                      {"rows", figures.rows},
                      {"rows_outside", figures.rows_outside},
                      {"arrivals", figures.arrivals},
                      {"timeline", figures.timeline},
                      {"input_tokens", figures.input},
                      {"output_tokens", figures.output},
                      {"context", figures.context},
                      {"sessions", figures.sessions},
                      {"blocks", put_ids},
                      {"capacity", figures.capacity},
                      {"files", figures.files}});
    escape_unprintable_json(out, begin);
}

void append_json(std::string& out, const Trace& trace, const InputErrors& errors) {
    const std::size_t begin = out.size();
    JsonWriter json(out);
    json.begin_object();
    put(json, {{"schema", inspect_schema}, {"name", trace.name}, {"errors", errors}});
    for (const char* key :
         {"trace", "rows", "rows_outside", "arrivals", "timeline", "input_tokens", "output_tokens",
          "context", "sessions", "blocks", "capacity", "files"}) {
        json.key(key).null();
    }
    json.end_object();
    escape_unprintable_json(out, begin);
}

namespace {

enum class Action : std::uint8_t { first, hit, partial_hit, miss, no_hash_ids };

}  // namespace

static constexpr const char* action_names[] = {"FIRST", "HIT", "PARTIAL_HIT", "MISS",
                                               "NO_HASH_IDS"};

namespace {

struct Request {
    std::uint64_t place = 0;  ///< `req`
    Action action = Action::first;
    std::uint64_t in_tokens = 0;
    std::uint64_t blocks = 0;
    std::uint64_t blocks_before = 0;  ///< of the request before
    std::uint64_t shared = 0;         ///< blocks of the longest prefix of any request before
    std::uint64_t hit_tokens = 0;
    std::uint64_t kept = 0;  ///< blocks of the prefix that it shares with the request before
    std::uint64_t kept_tokens = 0;
};

struct Sums {
    std::uint64_t requests = 0;
    std::uint64_t actions[5] = {};
    std::uint64_t hit_tokens = 0;
    std::uint64_t input_tokens = 0;
    std::uint64_t set_hits = 0;
    std::uint64_t set_total = 0;

    void add(const Sums& other) {
        requests += other.requests;
        for (std::size_t i = 0; i < std::size(actions); ++i) {
            actions[i] += other.actions[i];
        }
        hit_tokens += other.hit_tokens;
        input_tokens += other.input_tokens;
        set_hits += other.set_hits;
        set_total += other.set_total;
    }
};

}  // namespace

/// Whether each session is a sub-agent: named as another one, a slash, and more.
static std::vector<bool> sub_agents(const Trace& trace) {
    std::vector<std::string_view> names(trace.sessions.begin(), trace.sessions.end());
    std::sort(names.begin(), names.end());
    std::vector<bool> result;
    for (const std::string_view name : trace.sessions) {
        bool sub = false;
        for (std::size_t slash = name.find('/'); slash != name.npos && !sub;
             slash = name.find('/', slash + 1)) {
            sub = std::binary_search(names.begin(), names.end(), name.substr(0, slash));
        }
        result.push_back(sub);
    }
    return result;
}

namespace {

/// Plays the requests of one file.
class Simulation {
  public:
    Simulation(const Trace& trace, const std::vector<bool>& is_sub_agent)
        : trace_(trace), is_sub_agent_(is_sub_agent), seen_(trace.sessions.size()), tree_(trace) {
        for (std::size_t session = 0; session < seen_.size(); ++session) {
            // A chain inside a sub-agent has no place of its own.
            seen_[session] = trace.sessions[session].find(chain_mark) != std::string::npos;
        }
    }

    /// Rows come in file order. `requests`: where each is noted, or nullptr.
    void add(const TraceRow& row, std::vector<Request>* requests) {
        if (row.session != no_session && is_sub_agent_[row.session]) {
            place_ += seen_[row.session] ? 0 : 1;
            seen_[row.session] = true;
            return;
        }
        const Request request = play(row);
        ++sums_.requests;
        ++sums_.actions[static_cast<std::size_t>(request.action)];
        sums_.hit_tokens += request.hit_tokens;
        sums_.input_tokens += request.in_tokens;
        count_set(row);
        before_ = &row;
        if (requests != nullptr) {
            requests->push_back(request);
        }
    }
    const Sums& sums() const { return sums_; }

  private:
    Request play(const TraceRow& row) {
        const PrefixTree::Path path = tree_.enter(row);
        Request request;
        request.place = place_++;
        request.in_tokens = row.input_length;
        request.blocks = path.blocks;
        request.shared = path.known;
        request.hit_tokens =
            std::min<std::uint64_t>(request.shared * trace_.block_size, row.input_length);
        if (before_ == nullptr) {
            request.action = Action::first;
        } else if (request.blocks == 0) {
            request.action = Action::no_hash_ids;
        } else if (request.shared == 0) {
            request.action = Action::miss;
        } else {
            request.action = request.shared == request.blocks ? Action::hit : Action::partial_hit;
        }
        if (before_ != nullptr) {
            const auto now = trace_.ids_of(row);
            const auto then = trace_.ids_of(*before_);
            request.blocks_before = then.size();
            const auto end = std::mismatch(now.begin(), now.end(), then.begin(), then.end()).first;
            request.kept = row.name_space == before_->name_space
                               ? static_cast<std::uint64_t>(std::distance(now.begin(), end))
                               : 0;
            request.kept_tokens =
                std::min<std::uint64_t>(request.kept * trace_.block_size, row.input_length);
        }
        return request;
    }

    /// Blocks that some request before had, wherever.
    void count_set(const TraceRow& row) {
        const auto ids = trace_.ids_of(row);
        for (std::size_t at = 0; at < ids.size(); ++at) {
            const auto known = first_request_.try_emplace(
                std::uint64_t{row.name_space} << 32 | ids.number(at), sums_.requests);
            sums_.set_hits += known.first->second < sums_.requests ? 1 : 0;
            ++sums_.set_total;
        }
    }

    const Trace& trace_;
    const std::vector<bool>& is_sub_agent_;
    std::vector<bool> seen_;  ///< [session] a sub-agent whose place is counted
    PrefixTree tree_;
    /// [id in its namespace] the request that had it first
    std::unordered_map<std::uint64_t, std::uint64_t> first_request_;
    const TraceRow* before_ = nullptr;
    std::uint64_t place_ = 0;
    Sums sums_;
};

}  // namespace

/// A rate with four decimals, 0 of nothing.
static double rate(std::uint64_t part, std::uint64_t whole) {
    return whole == 0
               ? 0
               : std::nearbyint(static_cast<double>(part) / static_cast<double>(whole) * 10000) /
                     10000;
}

static void put_sums(JsonWriter& json, const Sums& sums) {
    put(json, {{"first", sums.actions[0]},
               {"hit", sums.actions[1]},
               {"partial_hit", sums.actions[2]},
               {"miss", sums.actions[3]},
               {"no_hash_ids", sums.actions[4]},
               {"hash_block_hit_tokens", sums.hit_tokens},
               {"hash_block_input_tokens", sums.input_tokens},
               {"hash_block_cache_hit_rate", rate(sums.hit_tokens, sums.input_tokens)},
               {"set_cache_hit_blocks", sums.set_hits},
               {"set_cache_total_blocks", sums.set_total},
               {"set_cache_hit_rate", rate(sums.set_hits, sums.set_total)}});
}

static void put_request(JsonWriter& json, const Request& request) {
    put_object(json, {{"req", request.place},
                      {"action", action_names[static_cast<std::size_t>(request.action)]},
                      {"in_tokens", request.in_tokens},
                      {"hash_id_count", request.blocks},
                      {"prev_hash_id_count", request.blocks_before},
                      {"kept", request.kept},
                      {"removed", request.blocks_before - request.kept},
                      {"new", request.blocks - request.kept},
                      {"kept_tokens", request.kept_tokens},
                      {"full_reset", request.blocks_before > 0 && request.kept == 0},
                      {"shared_prefix_with_any_prior", request.shared},
                      {"hash_block_hit_tokens", request.hit_tokens},
                      {"hash_block_miss_tokens", request.in_tokens - request.hit_tokens}});
}

static std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

void append_hash_block_report(std::string& out, const Trace& trace, std::string_view origin) {
    std::vector<const TraceRow*> rows;
    for (const TraceRow& row : trace.rows) {
        rows.push_back(&row);
    }
    std::ranges::sort(rows, {}, &TraceRow::index);
    const std::vector<bool> is_sub_agent = sub_agents(trace);
    const bool one_file = trace.files.size() <= 1;
    std::vector<Request> requests;
    std::vector<Sums> files;
    std::size_t next = 0;
    for (std::size_t file = 0; file < std::max<std::size_t>(1, trace.files.size()); ++file) {
        const std::size_t end =
            file + 1 < trace.files.size() ? trace.files[file + 1].first_row : rows.size();
        Simulation simulation(trace, is_sub_agent);
        for (; next < rows.size() && (one_file || rows[next]->index < end); ++next) {
            simulation.add(*rows[next], one_file ? &requests : nullptr);
        }
        files.push_back(simulation.sums());
    }
    Sums all;
    for (const Sums& sums : files) {
        all.add(sums);
    }
    JsonWriter json(out);
    json.begin_object().key(one_file ? "trace" : "trace_dir").string(origin);
    json.key("mode").string("hash-block");
    if (one_file) {
        json.key("total_requests").unsigned_integer(all.requests);
        json.key("summary").begin_object();
        put_sums(json, all);
        json.end_object().key("requests").begin_array();
        for (const Request& request : requests) {
            put_request(json, request);
        }
    } else {
        json.key("num_traces").unsigned_integer(files.size());
        json.key("aggregate").begin_object();
        put_sums(json, all);
        json.key("total_requests").unsigned_integer(all.requests).end_object();
        json.key("per_trace").begin_array();
        for (std::size_t i = 0; i < files.size(); ++i) {
            json.begin_object().key("trace").string(file_name(trace.files[i].name));
            json.key("total_requests").unsigned_integer(files[i].requests);
            json.key("summary").begin_object();
            put_sums(json, files[i]);
            json.end_object().end_object();
        }
    }
    json.end_array().end_object();
    out += '\n';
}

}  // namespace driftless
