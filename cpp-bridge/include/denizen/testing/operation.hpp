/*
 * The steps of a random sequence, and the bytes that stand for them.
 *
 * Any eight bytes are an operation, the same one here and in the Rust crate
 * (`denizen::testing::Operation::from_bytes`), so that both read one corpus.
 */
#ifndef DENIZEN_TESTING_OPERATION_HPP
#define DENIZEN_TESTING_OPERATION_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {

/** What a step does. Segments, cells and sizes are taken modulo what exists: any numbers will do. */
enum class op : std::uint8_t {
    /** Frees what is in the slot and allocates `count` vacant cells; `flags` pick the alignment
     * and bytes behind the last cell. */
    allocate,
    /** Settles an untyped segment's type. Here every segment has one, so this does nothing. */
    bind,
    /** Moves the segment, larger or smaller, as bytes. Objects in a tail that goes are destroyed. */
    resize,
    /** Builds default objects; refused where one of the cells is live. */
    construct,
    /** Fills vacant cells with default objects. */
    materialise,
    /** Destroys. */
    destroy,
    /** Gives cells the value number `offset`, in one of the ways that `to` picks. */
    set,
    /** A loop as NumPy runs it: a strided run gets a value, reading the old ones. */
    loop,
    /** Copies to another place or segment. */
    copy,
    /** Moves to another place or segment; what lived there is destroyed. */
    relocate,
    /** Swaps two ranges as bytes. */
    permute,
    /** Destroys everything in a segment. */
    clear,
    /** Frees a segment: what is live is destroyed. */
    free,
    /** Looks up an interior pointer: nothing to a type. */
    lookup,
    /** Looks up any address: nothing to a type. */
    wild,
    /** An allocation fails during the next step, after some that succeed. */
    fail_allocation,
    /** An operation of the type throws during the next step. */
    fail_element,
    /** A destructor that may throw does so during the next step. */
    fail_destructor,
    /** Gives cells the values number `offset`, `offset + 1`, .. */
    put,
    /** A loop of two inputs, of which the second is also the output. */
    compute,
    /** Sorts, where the type says how. */
    sort
};

/** One step and its numbers, in the order of their names in `shape_of`. */
struct operation {
    op what;
    std::array<std::uint32_t, 5> numbers;
};

/** How a step is written. */
struct operation_shape {
    /** Here. */
    const char *name;
    /** In Rust. */
    const char *rust;
    /** Names of the numbers, NULL after the last. */
    std::array<const char *, 5> fields;
    /** The last number of `fail_element` is a bool in Rust. */
    bool run = false;
};

inline const operation_shape &shape_of(op what)
{
    constexpr std::array<const char *, 5> run{"slot", "start", "count", "to", "offset"};
    static const operation_shape shapes[] = {
        {"allocate", "Allocate", {"slot", "count", "flags"}},
        {"bind", "Bind", {"slot"}},
        {"resize", "Resize", {"slot", "count", "extra"}},
        {"construct", "Construct", run, true},
        {"materialise", "Materialise", run, true},
        {"destroy", "Destroy", run, true},
        {"set", "Set", run, true},
        {"loop", "Loop", run, true},
        {"copy", "Copy", run, true},
        {"relocate", "Relocate", run, true},
        {"permute", "Permute", run, true},
        {"clear", "Clear", {"slot"}},
        {"free", "Free", {"slot"}},
        {"lookup", "Lookup", {"slot", "offset"}},
        {"wild", "Wild", {"bits", "shift"}},
        {"fail_allocation", "FailAllocation", {"after"}},
        {"fail_element", "FailElement", {"after", "panic"}},
        {"fail_destructor", "FailDestructor", {"after"}},
        {"put", "Put", run, true},
        {"compute", "Compute", run, true},
        {"sort", "Sort", run, true},
    };
    return shapes[static_cast<std::size_t>(what)];
}

/** The operation that eight bytes stand for. */
inline operation operation_of(const std::uint8_t *bytes)
{
    const std::uint32_t opcode = bytes[0] % 64, slot = bytes[1];
    const auto wide = [](std::uint8_t low, std::uint8_t high) -> std::uint32_t {
        return static_cast<std::uint32_t>(low | high << 8);
    };
    const std::uint32_t first = wide(bytes[2], bytes[3]), second = wide(bytes[4], bytes[5]);
    const auto run = [&](op what) {
        return operation{what, {slot, first, second, bytes[6], wide(bytes[7], bytes[6])}};
    };
    /* Mostly soon, so that it happens while something has been done already. */
    const std::uint32_t after = (bytes[3] & 2) == 0 ? bytes[2] % 8U : bytes[2];
    if (opcode < 4) {
        return {op::allocate, {slot, first, bytes[4]}};
    } else if (opcode == 4) {
        return {op::bind, {slot}};
    } else if (opcode < 10) {
        return {op::resize, {slot, first, bytes[4]}};
    } else if (opcode < 12) {
        return run(op::construct);
    } else if (opcode < 18) {
        return run(op::materialise);
    } else if (opcode < 20) {
        return run(op::destroy);
    } else if (opcode < 23) {
        return run(op::set);
    } else if (opcode < 26) {
        return run(op::loop);
    } else if (opcode < 29) {
        return run(op::copy);
    } else if (opcode < 32) {
        return run(op::relocate);
    } else if (opcode == 32) {
        return run(op::permute);
    } else if (opcode == 33) {
        return {op::clear, {slot}};
    } else if (opcode == 34) {
        return {op::free, {slot}};
    } else if (opcode == 35) {
        return {op::lookup, {slot, first}};
    } else if (opcode == 36) {
        return {op::wild, {first | second << 16, bytes[6]}};
    } else if (opcode < 40) {
        return {op::fail_allocation, {bytes[2] % 4U}};
    } else if (opcode < 46) {
        return {op::fail_element, {after, bytes[3] & 1U}};
    } else if (opcode < 48) {
        return {op::fail_destructor, {after}};
    } else if (opcode < 56) {
        return run(op::put);
    } else if (opcode < 60) {
        return run(op::compute);
    }
    return run(op::sort);
}

/** Steps of the longest sequence. */
constexpr std::size_t most_steps = 256;

/** The sequence that bytes stand for; what is left over at the end is ignored. */
inline std::vector<operation> sequence_of(const std::uint8_t *bytes, std::size_t size)
{
    std::vector<operation> operations;
    for (std::size_t at = 0; at + 8 <= size && operations.size() < most_steps; at += 8) {
        operations.push_back(operation_of(bytes + at));
    }
    return operations;
}

/** A step as Rust's `{:?}` writes it. */
inline std::string rust_text(const operation &step)
{
    const operation_shape &shape = shape_of(step.what);
    std::string fields;
    for (std::size_t index = 0; index < 5 && shape.fields[index] != nullptr; index++) {
        const bool truth = step.what == op::fail_element && index == 1;
        fields += (index == 0 ? "" : ", ") + std::string(shape.fields[index]) + ": " +
                  (!truth                    ? std::to_string(step.numbers[index])
                   : step.numbers[index] != 0 ? "true"
                                              : "false");
    }
    return shape.rust + (shape.run ? "(Run { " + fields + " })" : " { " + fields + " }");
}

} // namespace testing
} // namespace denizen

#endif
