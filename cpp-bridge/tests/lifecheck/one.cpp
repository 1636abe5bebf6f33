/* The lifecheck of one type of broken.hpp, as a stranger writes it. */
#include "broken.hpp"

#include <denizen/testing.hpp>

DENIZEN_LIFECHECK(broken::SUBJECT, [](denizen::testing::input &in) {
    return broken::SUBJECT(in.integer<long>());
})
