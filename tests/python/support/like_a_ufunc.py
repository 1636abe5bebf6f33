"""An object that looks like a ufunc and is none, for registrations that name it."""


class LikeAUfunc:
    nin, nout, signature = 1, 1, None


like_a_ufunc = LikeAUfunc()
