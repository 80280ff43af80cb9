#include "engine/inspect/hash_block_report.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/inspect/numbering.hpp"
#include "engine/plan/prefix_set.hpp"
#include "engine/plan/prefix_tree.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/flat_agents.hpp"

namespace driftless {

namespace {

enum class Action : std::uint8_t { first, hit, partial_hit, miss, no_hash_ids };
constexpr const char* action_names[] = {"FIRST", "HIT", "PARTIAL_HIT", "MISS", "NO_HASH_IDS"};

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

/// Whether each session is a sub-agent: named as another one, a slash, and more.
std::vector<bool> sub_agents(const Trace& trace) {
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
    void add(const TraceRow& row, std::vector<Request>* requests);
    const Sums& sums() const { return sums_; }

  private:
    Request play(const TraceRow& row);
    void count_set(const TraceRow& row);

    const Trace& trace_;
    const std::vector<bool>& is_sub_agent_;
    std::vector<bool> seen_;  ///< [session] a sub-agent whose place is counted
    PrefixTree tree_;
    Numbering ids_;
    std::vector<std::uint64_t> id_row_;  ///< [id] the request that had it first
    const TraceRow* before_ = nullptr;
    std::uint64_t place_ = 0;
    Sums sums_;
};

void Simulation::add(const TraceRow& row, std::vector<Request>* requests) {
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

Request Simulation::play(const TraceRow& row) {
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
                           ? static_cast<std::uint64_t>(end - now.begin())
                           : 0;
        request.kept_tokens =
            std::min<std::uint64_t>(request.kept * trace_.block_size, row.input_length);
    }
    return request;
}

/// Blocks that some request before had, wherever.
void Simulation::count_set(const TraceRow& row) {
    for (const std::uint64_t id : trace_.ids_of(row)) {
        const Numbering::Given given =
            ids_.number_of(PrefixSet::extend(PrefixSet::start(row.name_space), id));
        if (given.is_new) {
            id_row_.push_back(sums_.requests);
        }
        sums_.set_hits += id_row_[given.number] < sums_.requests ? 1 : 0;
        ++sums_.set_total;
    }
}

/// A rate with four decimals, 0 of nothing.
double rate(std::uint64_t part, std::uint64_t whole) {
    return whole == 0
               ? 0
               : std::nearbyint(static_cast<double>(part) / static_cast<double>(whole) * 10000) /
                     10000;
}

void write_sums(JsonWriter& json, const Sums& sums) {
    json.key("first").unsigned_integer(sums.actions[0]);
    json.key("hit").unsigned_integer(sums.actions[1]);
    json.key("partial_hit").unsigned_integer(sums.actions[2]);
    json.key("miss").unsigned_integer(sums.actions[3]);
    json.key("no_hash_ids").unsigned_integer(sums.actions[4]);
    json.key("hash_block_hit_tokens").unsigned_integer(sums.hit_tokens);
    json.key("hash_block_input_tokens").unsigned_integer(sums.input_tokens);
    json.key("hash_block_cache_hit_rate").number(rate(sums.hit_tokens, sums.input_tokens));
    json.key("set_cache_hit_blocks").unsigned_integer(sums.set_hits);
    json.key("set_cache_total_blocks").unsigned_integer(sums.set_total);
    json.key("set_cache_hit_rate").number(rate(sums.set_hits, sums.set_total));
}

void write_request(JsonWriter& json, const Request& request) {
    json.begin_object();
    json.key("req").unsigned_integer(request.place);
    json.key("action").string(action_names[static_cast<std::size_t>(request.action)]);
    json.key("in_tokens").unsigned_integer(request.in_tokens);
    json.key("hash_id_count").unsigned_integer(request.blocks);
    json.key("prev_hash_id_count").unsigned_integer(request.blocks_before);
    json.key("kept").unsigned_integer(request.kept);
    json.key("removed").unsigned_integer(request.blocks_before - request.kept);
    json.key("new").unsigned_integer(request.blocks - request.kept);
    json.key("kept_tokens").unsigned_integer(request.kept_tokens);
    json.key("full_reset").boolean(request.blocks_before > 0 && request.kept == 0);
    json.key("shared_prefix_with_any_prior").unsigned_integer(request.shared);
    json.key("hash_block_hit_tokens").unsigned_integer(request.hit_tokens);
    json.key("hash_block_miss_tokens").unsigned_integer(request.in_tokens - request.hit_tokens);
    json.end_object();
}

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

void append_hash_block_report(std::string& out, const Trace& trace, std::string_view origin) {
    std::vector<const TraceRow*> rows;
    for (const TraceRow& row : trace.rows) {
        rows.push_back(&row);
    }
    std::sort(rows.begin(), rows.end(),
              [](const TraceRow* a, const TraceRow* b) { return a->index < b->index; });
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
        write_sums(json, all);
        json.end_object().key("requests").begin_array();
        for (const Request& request : requests) {
            write_request(json, request);
        }
    } else {
        json.key("num_traces").unsigned_integer(files.size());
        json.key("aggregate").begin_object();
        write_sums(json, all);
        json.key("total_requests").unsigned_integer(all.requests).end_object();
        json.key("per_trace").begin_array();
        for (std::size_t i = 0; i < files.size(); ++i) {
            json.begin_object().key("trace").string(file_name(trace.files[i].name));
            json.key("total_requests").unsigned_integer(files[i].requests);
            json.key("summary").begin_object();
            write_sums(json, files[i]);
            json.end_object().end_object();
        }
    }
    json.end_array().end_object();
    out += '\n';
}

}  // namespace driftless
