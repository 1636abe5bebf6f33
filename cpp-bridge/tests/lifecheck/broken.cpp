/*
 * The driver, or the fuzz target, of the types of broken.hpp: LIFECHECK_TYPE in the environment says
 * which. Also of a type that is right.
 */
#include "broken.hpp"

#include <denizen/testing.hpp>

using denizen::testing::input;

namespace {

using subject = std::unique_ptr<denizen::testing::detail::subject>;

template <class T, class Number = long>
subject of()
{
    return denizen::testing::detail::subject_for(
        denizen::element<T>("T"), [](input &in) { return T{in.integer<Number>()}; }, __FILE__);
}

} // namespace

/* What DENIZEN_LIFECHECK would define for one type. */
DENIZEN_LIFECHECK_MEMORY
DENIZEN_LIFECHECK_REPORTS

static subject denizen_lifecheck_subject()
{
    struct entry {
        const char *name;
        subject (*make)();
    };
    const entry entries[] = {
        {"owner", of<broken::owner>},
        {"shares", of<broken::shares>},
        {"forgets", of<broken::forgets>},
        {"hasty", of<broken::hasty>},
        {"careless", of<broken::careless>},
        {"partial", of<broken::partial, int>},
        {"thief", of<broken::thief, int>},
        {"anchored", of<broken::anchored, int>},
        {"registered", of<broken::registered, int>},
        {"zero_liar", of<broken::zero_liar>},
        {"half_liar", of<broken::half_liar>},
        {"default_liar", of<broken::default_liar>},
        {"moves_loudly", of<broken::moves_loudly>},
        {"overflows", of<broken::overflows, int>},
        {"quits", of<broken::quits>},
        {"plain_c",
         [] {
             return denizen::testing::detail::subject_for(
                 denizen::element<broken::plain_c>("T"),
                 [](input &in) { return broken::plain_c(in.text()); }, __FILE__);
         }},
    };
    const char *wanted = std::getenv("LIFECHECK_TYPE");
    for (const entry &known : entries) {
        if (wanted != nullptr && std::strcmp(known.name, wanted) == 0) {
            return known.make();
        }
    }
    std::fprintf(stderr, "LIFECHECK_TYPE names none of the types\n");
    std::exit(2);
}

DENIZEN_LIFECHECK_ENTRY
