#include "proto/trace/tensorrt_event.hpp"

namespace driftless {

std::optional<BranchPath> read_path(const RowContext& context, const JsonValue& event) {
    const JsonValue path = given(event.find("branch_path"));
    if (const auto numbers = path.integers()) {
        return BranchPath(numbers->begin(), numbers->end());
    }
    if (path.present() && !(path.is(JsonType::array) && path.size() == 0)) {
        context.refuse("branch_path", path.raw(), "is not a list of branch numbers",
                       "use [] for the root, and the parent's path plus i for child i of a fork");
        return std::nullopt;
    }
    return BranchPath();
}

std::optional<std::uint64_t> read_number(const RowContext& context, const JsonValue& event,
                                         std::string_view name, std::uint64_t otherwise) {
    const JsonValue value = given(event.find(name));
    const auto number = value.present() ? value.as_u64() : std::optional(otherwise);
    if (!number) {
        context.refuse(name, value.raw(), "is not a whole number", "correct the event");
    }
    return number;
}

std::optional<std::int64_t> read_length(const RowContext& context, const JsonValue& event,
                                        std::string_view name) {
    const Field length = field_of(event.find(name), name);
    return length.present ? read_gap(context, length, TimeUnit::ms)
                          : std::optional<std::int64_t>(0);
}

std::string_view written(const JsonValue& event, std::string_view name) {
    const JsonValue value = event.find(name);
    return value.present() ? value.raw() : std::string_view{};
}

}  // namespace driftless
