"""Elements shuffled and drawn. The oracle does the same with their places."""

import numpy as np

from ..inputs import ordered
from ..operation import Table

TABLE = Table("random")
add = TABLE.add

#: Each generator anew, from one seed.
GENERATORS = {
    "Generator": lambda: np.random.default_rng(7),
    "RandomState": lambda: np.random.RandomState(7),
}
for name, make in GENERATORS.items():
    add(f"{name}.shuffle", lambda s, g=make: (g().shuffle(s.a), ordered(s.a)))
    add(f"{name}.shuffle of rows", lambda s, g=make: (g().shuffle(s.m), s.m))
    add(f"{name}.shuffle of a view", lambda s, g=make: (g().shuffle(s.a[::2]), ordered(s.a)))
    add(
        f"{name}.shuffle of a half-built array",
        lambda s, g=make: (g().shuffle(s.h), ordered(s.h)),
        needs={"default"},
    )
    add(
        f"{name}.permutation",
        lambda s, g=make: g().permutation(s.a),
        lambda s, g=make: s.a[g().permutation(10)],
    )
    add(
        f"{name}.permutation of rows",
        lambda s, g=make: g().permutation(s.m),
        lambda s, g=make: s.m[g().permutation(4)],
    )
    add(
        f"{name}.choice",
        lambda s, g=make: g().choice(s.a, 25),
        lambda s, g=make: s.a[g().choice(10, 25)],
    )
    add(
        f"{name}.choice without replacement",
        lambda s, g=make: g().choice(s.a, 6, replace=False),
        lambda s, g=make: s.a[g().choice(10, 6, replace=False)],
    )
    add(
        f"{name}.choice of one",
        lambda s, g=make: g().choice(s.a),
        lambda s, g=make: s.a[g().choice(10)],
    )
    add(
        f"{name}.choice with probabilities",
        lambda s, g=make: g().choice(s.a, 5, p=np.arange(10) / 45),
        lambda s, g=make: s.a[g().choice(10, 5, p=np.arange(10) / 45)],
    )
add(
    "Generator.shuffle of columns",
    lambda s: (np.random.default_rng(7).shuffle(s.m, axis=1), ordered(s.m[0]), ordered(s.m)),
)
add(
    "Generator.permutation of columns",
    lambda s: np.random.default_rng(7).permutation(s.m, axis=1),
    lambda s: s.m[:, np.random.default_rng(7).permutation(5)],
)
add("Generator.permuted", lambda s: ordered(np.random.default_rng(7).permuted(s.a)))
add(
    "Generator.permuted rows",
    lambda s: [ordered(row) for row in np.random.default_rng(7).permuted(s.m, axis=1)],
)
add(
    "Generator.permuted with out=",
    lambda s: (np.random.default_rng(7).permuted(s.m, axis=0, out=s.m) is s.m, ordered(s.m)),
)
add(
    "Generator.choice of rows",
    lambda s: np.random.default_rng(7).choice(s.m, 3, axis=0),
    lambda s: s.m[np.random.default_rng(7).choice(4, 3)],
)
add(
    "Generator.choice without shuffling",
    lambda s: np.random.default_rng(7).choice(s.a, 4, replace=False, shuffle=False),
    lambda s: s.a[np.random.default_rng(7).choice(10, 4, replace=False, shuffle=False)],
)
add("shuffle and sort again", lambda s: (s.rng.shuffle(s.a), np.sort(s.a)), needs={"ordering"})
add("shuffle many times", lambda s: ([s.rng.shuffle(s.a) for _ in range(200)][:0], ordered(s.a)))
