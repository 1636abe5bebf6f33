/*
 * denizen::without_gil: other threads run while this one works on elements.
 */
#ifndef DENIZEN_CPP_WITHOUT_GIL_HPP
#define DENIZEN_CPP_WITHOUT_GIL_HPP

#include <denizen/denizen.h>

#if !defined(_WIN32) && PY_VERSION_HEX < 0x030E0000
#include <unistd.h>
#endif

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/*
 * When the interpreter ends while a daemon thread is without the GIL, the thread does not get it
 * again. Before Python 3.14 it is ended where it stands by pthread_exit, which unwinds the stack:
 * destructors would use Python without the GIL, and a function that is noexcept (guard) ends the
 * process. So it waits here for the end of the process, as it does in newer Pythons.
 */
inline void take_gil_again(PyThreadState *state) noexcept
{
#if !defined(_WIN32) && PY_VERSION_HEX < 0x030E0000
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;) {
            pause();
        }
    }
#else
    PyEval_RestoreThread(state);
#endif
}

} // namespace detail

/**
 * Lets the GIL go while it lives, for work on the elements of views of a thread-safe type, in a
 * function that Python called. Nothing of Python may be used meanwhile; views are made before it and
 * end after it. Made and destroyed in one thread, which holds the GIL when it is made, and again when
 * it is gone.
 */
class without_gil
{
public:
    without_gil() : state_(PyEval_SaveThread()) {}
    without_gil(const without_gil &) = delete;
    without_gil &operator=(const without_gil &) = delete;
    ~without_gil() { detail::take_gil_again(state_); }

private:
    PyThreadState *state_;
};

} // namespace denizen

#endif
