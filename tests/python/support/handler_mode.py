"""What the tests of handler mode share."""

import denizen
from support.handlers import get_handler

DEFAULT = denizen.handler_name()


MODES = {
    "plain": lambda own: denizen.handler(),
    "over_own": lambda own: denizen.handler(under=own.capsule),
    "over_default": lambda own: denizen.handler(under=get_handler()),
}
