"""The trials of tests/python/trials for every kind of C++ element."""

from trials.bad_input import *
from trials.capabilities import *
from trials.copies import *
from trials.hostile import *
from trials.life import *
from trials.order import *
from trials.records import *
from trials.threads import *
from trials.transport import *
