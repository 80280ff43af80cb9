#include "proto/trace/row.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>

#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"

namespace driftless {

static constexpr std::size_t capacity_min = 1024;
static constexpr std::size_t slots_min = 1024;
/// Look-ups that are begun together, so that their cache misses overlap.
static constexpr std::size_t batch = 32;
/// Numbers stay below this, so that callers have room for marks of their own.
static constexpr std::uint64_t numbers_max = std::uint64_t{1} << 31;

BlockIds& BlockIds::operator=(const BlockIds& other) {
    if (this != &other) {
        size_ = 0;
        reserve(other.size_);
        if (other.size_ > 0) {
            std::memcpy(numbers_.get(), other.numbers_.get(), other.size_ * sizeof(std::uint32_t));
        }
        size_ = other.size_;
        direct_ = other.direct_;
        direct_end_ = other.direct_end_;
        values_ = other.values_;
        table_.clear();
    }
    return *this;
}

void BlockIds::reserve(std::size_t count) {
    if (count <= capacity_) {
        return;
    }
    reallocate(std::max({count, capacity_ + capacity_ / 2, capacity_min}));
}

void BlockIds::reallocate(std::size_t capacity) {
    void* const moved = std::realloc(numbers_.get(), capacity * sizeof(std::uint32_t));
    if (moved == nullptr && std::get_new_handler() != nullptr) {
        std::get_new_handler()();  // as for all other memory: it says so, and ends the process
    }
    CHECK(moved != nullptr);
    (void)numbers_.release();
    numbers_.reset(static_cast<std::uint32_t*>(moved));
    capacity_ = capacity;
}

void BlockIds::append(std::span<const std::uint64_t> ids) {
    if (ids.empty()) {
        return;
    }
    reserve(size_ + ids.size());
    if (direct_) {
        const std::uint64_t largest = *std::max_element(ids.begin(), ids.end());
        const std::uint64_t limit =
            std::min<std::uint64_t>(std::max<std::uint64_t>(direct_min, 2 * size_), numbers_max);
        if (largest < limit) {
            direct_end_ = std::max(direct_end_, static_cast<std::uint32_t>(largest + 1));
            std::transform(ids.begin(), ids.end(), numbers_.get() + size_,
                           [](std::uint64_t id) { return static_cast<std::uint32_t>(id); });
            size_ += ids.size();
            return;
        }
        number_all();
    }
    append_numbered(ids);
}

/// From numbers that are the ids to numbers by first use.
void BlockIds::number_all() {
    direct_ = false;
    constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> number_of_id(direct_end_, none);
    for (std::size_t i = 0; i < size_; ++i) {
        std::uint32_t& number = number_of_id[numbers_[i]];
        if (number == none) {
            number = static_cast<std::uint32_t>(values_.size());
            values_.push_back(numbers_[i]);
        }
        numbers_[i] = number;
    }
}

std::size_t BlockIds::slot_of(std::uint64_t id) const {
    return static_cast<std::size_t>(mix64(id + golden_gamma)) & (table_.size() - 1);
}

/// At most three quarters full: look-ups that go on read slots that lie side by side.
void BlockIds::build_table(std::size_t slots) {
    table_ = std::vector<std::uint32_t>();  // frees it first, which `= {}` does not
    table_.resize(slots, 0);
    for (std::uint32_t number = 0; number < values_.size(); ++number) {
        std::size_t at = slot_of(values_[number]);
        while (table_[at] != 0) {
            at = (at + 1) & (slots - 1);
        }
        table_[at] = number + 1;
    }
}

std::uint32_t BlockIds::number_of(std::uint64_t id) {
    std::size_t at = slot_of(id);
    while (table_[at] != 0) {
        if (values_[table_[at] - 1] == id) {
            return table_[at] - 1;
        }
        at = (at + 1) & (table_.size() - 1);
    }
    CHECK(values_.size() < numbers_max);
    values_.push_back(id);
    table_[at] = static_cast<std::uint32_t>(values_.size());
    return table_[at] - 1;
}

void BlockIds::append_numbered(std::span<const std::uint64_t> ids) {
    while (!ids.empty()) {
        const std::span<const std::uint64_t> some = ids.first(std::min(batch, ids.size()));
        ids = ids.subspan(some.size());
        const std::size_t values = values_.size() + some.size();
        if (values > table_.size() / 4 * 3) {
            build_table(std::max(slots_min, std::bit_ceil(values * 4 / 3 + 1)));
        }
        for (const std::uint64_t id : some) {
            __builtin_prefetch(&table_[slot_of(id)]);
        }
        for (const std::uint64_t id : some) {
            const std::uint32_t known = table_[slot_of(id)];
            __builtin_prefetch(known == 0 ? nullptr : &values_[known - 1]);
        }
        for (const std::uint64_t id : some) {
            numbers_[size_++] = number_of(id);
        }
    }
}

void BlockIds::settle() {
    table_ = std::vector<std::uint32_t>();
    values_.shrink_to_fit();
    if (size_ > 0 && size_ < capacity_) {  // what is locked is resident, used or not
        reallocate(size_);
    }
}

static std::string kind_of(const InputError& error) {
    std::string said = error.field + '\n' + error.problem;
    std::erase_if(said, is_digit);
    return said;
}

static void count_kind(const InputError& error, std::vector<InputErrorKind>& kinds) {
    std::string said = kind_of(error);
    if (const auto known = std::ranges::find(kinds, said, &InputErrorKind::said);
        known != kinds.end()) {
        ++known->count;
    } else if (kinds.size() < input_errors_max) {
        kinds.push_back({std::move(said), 1});
    }
}

void InputErrors::add(InputError error) {
    ++count;
    count_kind(error, kinds);
    if (list.size() < input_errors_max) {
        list.push_back(std::move(error));
    }
}

void InputErrors::add_first(InputError error) {
    ++count;
    count_kind(error, kinds);
    if (list.size() == input_errors_max) {
        list.pop_back();
    }
    list.insert(list.begin(), std::move(error));
}

std::vector<std::string> to_lines(const InputErrors& errors) {
    std::vector<std::string> lines;
    std::vector<std::uint64_t> shown(errors.kinds.size(), 0);
    std::uint64_t left = errors.count;
    for (const InputError& error : errors.list) {
        const auto kind = std::ranges::find(errors.kinds, kind_of(error), &InputErrorKind::said);
        if (kind == errors.kinds.end()) {
            continue;  // one of more kinds than are counted
        }
        std::uint64_t& times = shown[static_cast<std::size_t>(kind - errors.kinds.begin())];
        if (++times > shown_errors_max) {
            continue;
        }
        lines.push_back(to_text(error));
        --left;
        if (times == shown_errors_max && kind->count > times) {
            lines.push_back("and " + std::to_string(kind->count - times) + " more like that");
            left -= kind->count - times;
        }
    }
    if (left > 0) {
        lines.push_back("and " + counted(left, "more error", "more errors"));
    }
    return lines;
}

std::string to_text(const InputError& error) {
    std::string text = error.file;
    if (error.line > 0) {
        text += (text.empty() ? "line " : ":") + std::to_string(error.line);
    }
    text += text.empty() ? "" : ": ";
    if (!error.field.empty()) {
        text += error.field + " ";
    }
    if (!error.value.empty()) {
        text += '"';
        append_json_escaped(text, error.value);
        text += "\" ";
    }
    text += error.problem;
    if (!error.remedy.empty()) {
        text += "; " + error.remedy;
    }
    return printable(text);  // names of files and columns may hold anything
}

void Trace::sort_dependencies() {
    std::ranges::stable_sort(dependencies, {}, &Dependency::row);
}

}  // namespace driftless
